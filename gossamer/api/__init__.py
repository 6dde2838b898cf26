"""The control API: HTTP and JSON over a crawl's folder, and over the crawl itself while it runs.

It is a process of its own (`gossamer serve D`), so that nobody who asks can hold up who crawls. What it says comes
from two places: the folder, read through read-only views of the stores (views.py), and the running crawl's control
socket (crawl_client.py). Where the crawl is not running the folder alone has to do, and for most questions it does.

    table.py      every route: method, path, scope, errors, a sentence. Routing, checking and the OpenAPI document
                  come from it and from the types of the functions that it names
    route.py      what a route is        app.py      one request, from the first byte to the answer
    guard.py      who may ask            openapi.py  the document
    routes/status.py    how it stands         history.py  over time            pages.py         records, contents
    routes/hosts.py     hosts, domains        folder.py   settings, seeds, log policies.py      policies, limits
    routes/actions.py   seeds, pause, ...     events.py   what happens now     metrics.py       for Prometheus
    routes/sessions.py  logging in            static_files.py  dashboard, docs, health

The shapes of all answers are in api/shapes.py.
"""
