"""How fast is it, on this machine, beside others? `gossamer bench`, and `gossamer plan` for what follows from it.

START HERE: measuring.py, which runs every crawler in turn on the same pages.

    mix.py          the pages: so many hosts, pages and bytes, written to disk once; real_pages.py makes varied ones
    nginx.py        serves them; its access log is the judge of how many pages somebody got, and when
    crawlers.py     who is compared: how each is found, started, and set
    versions.py     Gossamer among them, this version and others in checkouts
    environment.py  the throw-away environment that the Python peers are installed into; go_program.py builds others
    cores.py        which cores server and crawlers run on
    disk.py         whether the crawls write to the disk or to memory
    running.py      one run of one program: time, CPU, memory and bytes of it and of all that it starts
    ceiling.py      what nginx can give to a client that only loads
    profile.py      where the time of a page goes (sampling.py is the part that sits in the crawl)
    report.py       medians, ratios and spreads, as JSON and as text; picture.py draws them
    planning.py     from figures of one machine to those of a crawl of the web

A host is an address (127.1.0.1, 127.1.0.2, ...), because that is the one kind of host that every crawler, libcurl
and nginx understand alike on any machine: names would need a resolver of its own for each of them, and what it costs
would differ. So nobody resolves names here, and nobody has a shared cache of connections by name.
"""
