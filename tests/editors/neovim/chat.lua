-- Open the conversation, ask, answer a question where it stands, type while the answer comes, kill the server, go on.
return function(drive)
  local values, record = drive.values, drive.record
  local poem = drive.open("poem.txt")

  local function client()
    return vim.lsp.get_clients({ name = "handrail" })[1]
  end
  local function open()
    local known = client()
    known:exec_cmd({ title = "open", command = "handrail.chat.open", arguments = { vim.empty_dict() } }, { bufnr = poem })
    drive.await("the conversation", function()
      return vim.api.nvim_buf_get_name(0):find("chat%-") and #vim.lsp.get_clients({ name = "handrail", bufnr = 0 }) == 1
    end)
    return vim.api.nvim_get_current_buf()
  end
  local function act(wanted)
    local offered = drive.choose(wanted)
    vim.lsp.buf.code_action()
    return offered
  end
  local chat = open()
  local function shows(text)
    drive.await(text, function()
      return drive.text(chat):find(text, 1, true)
    end)
  end
  local function to_end(keys)
    vim.api.nvim_set_current_buf(chat)
    vim.api.nvim_win_set_cursor(0, { vim.api.nvim_buf_line_count(chat), 0 })
    drive.press(chat, keys)
  end

  record.fresh = drive.text(chat)
  to_end("i" .. values.prompt .. "<Esc>")
  act("Send")
  shows("May this command run?")
  to_end("A" .. values.draft .. "<Esc>")
  vim.fn.search("May this command run", "bw")
  record.offered = act("Allow once")
  shows(values.answer)
  record.answered = drive.text(chat)
  drive.await("the end of the turn to be written down", function()
    local journal = vim.fn.glob(vim.env.XDG_STATE_HOME .. "/handrail/**/*.jsonl", false, true)[1]
    return table.concat(vim.fn.readfile(journal), "\n"):find('"finished"', 1, true)
  end)

  drive.kill_servers()
  drive.await("the client to notice", function()
    return client() == nil or client():is_stopped()
  end)
  vim.cmd("edit! poem.txt")
  drive.open("poem.txt")
  vim.api.nvim_exec_autocmds("FileType", { buffer = chat })
  drive.await("it to hold the conversation", function()
    return #vim.lsp.get_clients({ name = "handrail", bufnr = chat }) == 1
  end)
  vim.api.nvim_set_current_buf(chat)
  vim.fn.search(values.draft, "bw")
  drive.press(chat, "A" .. values.more .. "<Esc>")
  act("Send")
  shows(values.last)
  record.last = drive.text(chat)
end
