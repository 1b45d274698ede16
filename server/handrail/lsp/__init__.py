"""The only place that knows LSP: handlers, the document mirror, the editor behind `workspace/applyEdit`."""
