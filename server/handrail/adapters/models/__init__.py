"""The sources of answers: models behind HTTP, pasted replies, scripts."""
