"""Services of a client to its server beyond the protocol of language servers, where it offers them."""
