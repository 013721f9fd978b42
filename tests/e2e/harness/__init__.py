"""What the end-to-end tests share: the daemon, its client, the processes they slow, and the proofs."""
