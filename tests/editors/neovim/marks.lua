-- What a turn changed is marked by diagnostics of handrail's own, which are not among the problems that others report.
return function(drive)
  local record = drive.record
  local buffer = drive.open("poem.txt")
  drive.command("Handrail go", " landed")
  drive.await("the mark", function()
    return #vim.diagnostic.get(buffer) > 0
  end)
  record.after = drive.snapshot()
  local client = vim.lsp.get_clients({ name = "handrail", bufnr = buffer })[1]
  local answer = client.handlers["handrail/client/diagnostics"](nil, {}, { client_id = client.id })
  record.passed_on = answer.documents
  vim.cmd.wall()
end
