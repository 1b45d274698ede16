"""Where answers come from: models behind HTTP, pasted replies, scripts."""
