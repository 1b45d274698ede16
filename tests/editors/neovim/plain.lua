-- handrail in a Neovim that has nothing else of it: the few lines that any server needs.
vim.lsp.config("handrail", {
  cmd = { "handrail", "serve" },
  root_dir = function(_, start_in)
    start_in(vim.fn.getcwd())
  end,
})
vim.lsp.enable("handrail")
