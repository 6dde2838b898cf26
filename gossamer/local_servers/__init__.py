"""Real servers on loopback, for the demo of a cluster and for tests: Kafka, SeaweedFS and Valkey, without a set-up.

They come from what anybody can install: Java and published jars, and wheels. Each is a process of ours that dies
with us, keeps its data in one folder, and listens on 127.0.0.1 only. They share no code with the crawler, as the
synthetic web does not. What is missing on a machine is a `ServerMissing` that says what to install.
"""
