"""Several crawls below one folder, on one page: `gossamer serve FOLDER-OF-CRAWLS`.

    crawls.py     the crawls in a folder: how each stands, starting and stopping one
    beside.py     the servers behind: each crawl that is looked at has one of its own, on a socket, asked through here
    routes.py     what this server answers itself

Each crawl is read by a process of its own, because a process goes by one crawl's rules about URLs and sites. This one
knows the keys of the folder, and nothing of what is in a crawl.
"""
