-- One conversation with what every client of LSP has: ask, type while the answer streams in, answer a question, mend an
-- edit that failed, undo a change and keep the others, restore the turn, kill the server, go on.
return function(drive)
  local values, record = drive.values, drive.record
  local poem = drive.open("poem.txt")

  local function client()
    return vim.lsp.get_clients({ name = "handrail" })[1]
  end
  local function act(wanted)
    local offered = drive.choose(wanted)
    vim.lsp.buf.code_action()
    return offered
  end

  -- The conversation is opened.
  local open = { title = "open", command = "handrail.chat.open", arguments = { vim.empty_dict() } }
  client():exec_cmd(open, { bufnr = poem })
  drive.await("the conversation", function()
    return vim.api.nvim_buf_get_name(0):find("chat%-") and #vim.lsp.get_clients({ name = "handrail", bufnr = 0 }) == 1
  end)
  local chat = vim.api.nvim_get_current_buf()
  local function shows(text, buffer)
    drive.await(text, function()
      return drive.text(buffer or chat):find(text, 1, true)
    end)
  end
  local function to_end(keys)
    vim.api.nvim_set_current_buf(chat)
    vim.api.nvim_win_set_cursor(0, { vim.api.nvim_buf_line_count(chat), 0 })
    drive.press(chat, keys)
  end

  -- It is asked, and streams while the next message is typed below it, in insert mode throughout.
  drive.choose("no choice: the question is answered in the conversation")
  to_end("i" .. values.prompt .. "<Esc>")
  act("Send")
  shows(values.pieces[1])
  vim.api.nvim_win_set_cursor(0, { vim.api.nvim_buf_line_count(chat), 0 })
  vim.api.nvim_input("A")
  record.streamed = {}
  for number, word in ipairs(values.words) do
    vim.api.nvim_input(word)
    drive.await(word, function()
      return vim.api.nvim_get_current_line():find(word, 1, true)
    end)
    drive.go_on()
    shows(values.pieces[number + 1])
    table.insert(record.streamed, { vim.api.nvim_get_mode().mode, vim.api.nvim_get_current_line() })
  end
  vim.api.nvim_input("<Esc>")
  drive.await("normal mode", function()
    return vim.api.nvim_get_mode().mode == "n"
  end)

  -- A command is approved where it is asked about.
  shows("May this command run?")
  record.ran_before = vim.fn.filereadable("ran.txt") == 1
  drive.choose("no choice")
  vim.fn.search("May this command run", "bw")
  record.answers = act("Allow once")
  shows(values.answer)
  record.answered = drive.text(chat)

  -- One edit did not land: its quick fix makes it.
  drive.await("the diagnostic", function()
    return #vim.diagnostic.get(poem) > 0
  end)
  record.landed = drive.snapshot()
  vim.api.nvim_set_current_buf(poem)
  vim.api.nvim_win_set_cursor(0, { vim.diagnostic.get(poem)[1].lnum + 1, 0 })
  record.fixes = act("Apply at line")
  drive.await("the quick fix", function()
    return #vim.diagnostic.get(poem) == 0
  end)
  record.mended = drive.snapshot()

  -- One change is undone, the others are kept.
  vim.fn.cursor(vim.fn.search(values.undo, "w"), 1)
  act("Undo this change (")
  drive.await("the undo", function()
    return not drive.text(poem):find(values.undo, 1, true)
  end)
  record.undone = drive.snapshot()
  local function pending()
    return drive.request(client(), "review/list", { uri = vim.uri_from_bufnr(poem) })
  end
  record.to_keep = #pending()
  act("Keep all")
  for _ = 1, 100 do -- answers of the server, each of which is awaited
    record.left = #pending()
    if record.left == 0 then
      break
    end
  end

  -- The turn is taken back, from its place in the conversation.
  vim.api.nvim_set_current_buf(chat)
  vim.fn.search(values.answer, "w")
  act("Undo this turn's changes")
  shows(values.restored, poem)
  drive.await("the command's file to be gone", function()
    return vim.fn.filereadable("ran.txt") == 0
  end)
  record.restored = drive.snapshot()

  -- The server is killed, and the same session goes on.
  drive.kill_servers()
  drive.await("the client to notice", function()
    return client() == nil or client():is_stopped()
  end)
  vim.cmd("noautocmd buffer " .. poem)
  for _, buffer in ipairs({ poem, chat }) do
    vim.api.nvim_exec_autocmds("FileType", { buffer = buffer })
    drive.await("it to hold a document", function()
      return #vim.lsp.get_clients({ name = "handrail", bufnr = buffer }) == 1
    end)
  end
  vim.api.nvim_set_current_buf(chat)
  vim.api.nvim_win_set_cursor(0, { vim.api.nvim_buf_line_count(chat), 0 })
  vim.fn.search(values.words[#values.words], "bcw")
  drive.press(chat, "A" .. values.more .. "<Esc>")
  act("Send")
  shows(values.last)
  record.last = drive.text(chat)
end
