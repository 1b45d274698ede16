-- Settings stand where Neovim has those of all servers, and are told again when they change.
return function(drive)
  drive.open("poem.txt")
  drive.command("Handrail go", "The first one.")
  local client = vim.lsp.get_clients({ name = "handrail" })[1]
  client.settings.handrail.model = drive.values.other
  client:notify("workspace/didChangeConfiguration", { settings = client.settings })
  vim.cmd("HandrailNew")
  drive.await("the new conversation", function()
    return vim.api.nvim_buf_get_name(0):find("chat%-")
  end)
  drive.command("Handrail go", "The other one.")
end
