-- Two servers on one workspace ask at once: each gets only the answer to its own question.
return function(drive)
  local record = drive.record
  drive.open("poem.txt")
  local one = vim.lsp.get_clients({ name = "handrail" })[1]
  local other = assert(vim.lsp.get_client_by_id(vim.lsp.start(
    vim.tbl_extend("force", vim.lsp.config.handrail, { name = "other", root_dir = vim.fn.getcwd() })
  )))
  drive.await("the other server", function()
    return other.initialized
  end)

  for number, client in ipairs({ one, other }) do
    drive.request(client, "turn/start", { prompt = "go" })
    drive.await("question " .. number, function()
      return (drive.banner() or ""):find(("(%d)"):format(number), 1, true)
    end)
  end
  local first, second = drive.request(one, "approval/list"), drive.request(other, "approval/list")
  record.asked = { #first, #second }
  record.same = first[1].id == second[1].id
  record.refused = select(2, drive.request(other, "approval/answer", { approval = first[1].id, choice = "allow" }))
  local texts = {}
  for number, client in ipairs({ one, other }) do
    texts[number] = drive.request(client, "approval/show").uri
  end
  record.documents = texts
  record.ran_before = vim.fn.filereadable("ran.txt") == 1

  drive.choose("touch") -- the oldest: that of the first server
  drive.answer()
  vim.api.nvim_input("yes<CR>")
  drive.await("the end of one question", function()
    return (drive.banner() or ""):find("(1)", 1, true)
  end)
  record.left = { #drive.request(one, "approval/list"), #drive.request(other, "approval/list") }
  drive.await("the command", function()
    return vim.fn.filereadable("ran.txt") == 1
  end)
  vim.fn.delete("ran.txt")
  drive.answer()
  vim.api.nvim_input("no<CR>")
  drive.await("the end of the other", function()
    return not drive.banner()
  end)
  record.ran = vim.fn.filereadable("ran.txt") == 1
end
