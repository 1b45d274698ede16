"""What a client does for its server beyond the protocol of language servers, where it offers that."""
