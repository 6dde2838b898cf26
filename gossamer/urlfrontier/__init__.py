"""A frontier for crawlers of others: the contract of URLFrontier over the project's store.

tables.py      what is on disk
queues.py      the queues in memory: whose turn it is, and their figures
change.py      one write batch, and what it does to the queues once it is written
intake.py      URLs that clients put
leases.py      URLs that are in process, and until when
hand_out.py    URLs that clients get
frontier.py    all of it, opened and closed; settings, deletion, listing
service.py     the methods of the .proto
server.py      the folder, the gRPC server and the metrics of `gossamer frontier`
"""
