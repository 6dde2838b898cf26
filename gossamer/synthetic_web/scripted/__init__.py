"""Hosts for who crawls with a browser: scripts make their pages, or dress them up, or attack whoever runs them.

    applications.py   scripted hosts: text and links are there when a browser has run the page, and not before
    decorated.py      decorated hosts: the page is complete as it is sent, and its scripts add nothing worth reading
    hostile.py        hostile hosts: scripts that never end, eat memory, or go where a crawler must not go
    content.py        what a page of any of them says, and the parts that pages share

They come behind all other hosts, in this order, one kind each in turn. Every one is linked from the root page of one
ordinary host and has a tree of pages below its own root page: / and /item/1, /item/2, ...

What scripts make of a page stands in `Answer.built`, so the truth about the web needs no browser. A real browser
visits every kind in tests/synthetic_web/test_web_scripted.py and finds the same.
"""
