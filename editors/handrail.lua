-- handrail in Neovim 0.11. Copy this file to ~/.config/nvim/plugin/handrail.lua; `handrail` must be on the PATH.
--
-- Say which model answers, in init.lua (docs/settings.md has all settings):
--
--   vim.lsp.config("handrail", { settings = { handrail = { model = "ollama:qwen3" } } })
--
-- :Handrail              open the conversation, which is a document: write at its end, then send
-- :Handrail TEXT         say TEXT in the latest conversation
-- :'<,'>Handrail [TEXT]  the same about the selected lines; without TEXT the conversation opens with them quoted
-- :Handrail!             apply the edits of a reply that was copied to the clipboard
-- :HandrailSend          send what is written at the end of the conversation
-- :HandrailStop          stop all turns
-- :HandrailNew           start another conversation
-- :HandrailSessions      choose an earlier conversation and open it
-- :HandrailAnswer        show a waiting question in full, and answer it
-- :HandrailRules         choose a rule that an answer has added, and remove it
-- :HandrailReview        list the changes to review, for :cc and :cnext; with ! open the review document
-- :HandrailKeep          keep the change at the cursor, or those in a range (:%HandrailKeep); also in the list of changes
-- :HandrailUndo          undo them instead
-- :HandrailRestore       choose a turn, see what it changed, and undo it
-- :HandrailLast          show the last turn's answer, how it ended, and what did not land
-- :HandrailMessages      show in full the messages that were cut to one line
--
-- In a conversation, <localleader>s sends, <localleader>x stops, and <localleader>n begins another one. To turn these
-- keys off: `vim.g.handrail_keys = false`. Lenses show what can be done at a line, and `vim.lsp.codelens.run()` does it.
-- To turn them off: `vim.g.handrail_lenses = false`. The same is offered by `gra` as code actions.
--
-- To show in the statusline what handrail is doing: `vim.o.statusline = "%f %=%{v:lua.HandrailStatus()}"`.

local running = {} -- the running turns by their ids: their client, and what they do now
local questions = {} -- the open questions, as {client, question}, the oldest first
local pending = {} -- how many changes wait to be reviewed, by the client's id
local waiting = {} -- what is done once a server has started: any, or the one of an id
local crashes = {} -- when servers ended by themselves
local messages = {} -- what was said, in full
local last -- the report of the last turn
local session -- the session of the last turn
local conversation -- the buffer of the conversation that was opened last
local banner -- the window that says that questions wait
local shown -- the question that a window shows

-- Characters that are not seen, or that change the order in which others are, as ranges; `blanks` only look like a blank.
local unseen = {
  { 0x00, 0x08 }, { 0x0b, 0x1f }, { 0x7f, 0x9f }, { 0xad, 0xad }, { 0x34f, 0x34f }, { 0x600, 0x605 }, { 0x61c, 0x61c },
  { 0x6dd, 0x6dd }, { 0x70f, 0x70f }, { 0x890, 0x891 }, { 0x8e2, 0x8e2 }, { 0x115f, 0x1160 }, { 0x17b4, 0x17b5 },
  { 0x180b, 0x180f }, { 0x200b, 0x200f }, { 0x2028, 0x202e }, { 0x2060, 0x206f }, { 0x2800, 0x2800 }, { 0x3164, 0x3164 },
  { 0xd800, 0xf8ff }, { 0xfe00, 0xfe0f }, { 0xfeff, 0xfeff }, { 0xffa0, 0xffa0 }, { 0xfff0, 0xfffb }, { 0xfffe, 0xffff },
  { 0x110bd, 0x110bd }, { 0x110cd, 0x110cd }, { 0x13430, 0x1345f }, { 0x1bca0, 0x1bca3 }, { 0x1d173, 0x1d17a },
  { 0xe0000, 0x10ffff },
}
local blanks = {
  { 0xa0, 0xa0 }, { 0x1680, 0x1680 }, { 0x2000, 0x200a }, { 0x202f, 0x202f }, { 0x205f, 0x205f }, { 0x3000, 0x3000 },
}

local function is_among(code, ranges)
  for _, range in ipairs(ranges) do
    if code >= range[1] and code <= range[2] then
      return true
    end
  end
  return false
end

-- `text` with characters that are not seen as their numbers; with `exact`, blanks that look like others, too.
local function visible(text, exact)
  return (text:gsub("[%z\1-\8\11-\31\127-\255][\128-\191]*", function(found)
    local code = vim.fn.char2nr(found)
    local is_hidden = is_among(code, unseen) or exact and is_among(code, blanks)
    if not is_hidden then
      return found
    end
    return (code < 0x80 and "\\x%02x" or code <= 0xffff and "\\u%04x" or "\\U%08x"):format(code)
  end))
end

-- `text` as one line that is no wider than `width` cells.
local function one_line(text, width)
  local line = visible(vim.trim(text:gsub("%s+", " ")))
  if vim.fn.strdisplaywidth(line) <= width then
    return line
  end
  while line ~= "" and vim.fn.strdisplaywidth(line) > width - 1 do
    line = vim.fn.strcharpart(line, 0, vim.fn.strcharlen(line) - 1)
  end
  return line .. "…"
end

-- Say `text` in one short line: a longer one would wait for ENTER, and eat the keys that are typed then.
local function say(text, level)
  local line = one_line("handrail: " .. text, vim.v.echospace)
  table.insert(messages, os.date("%H:%M:%S  ") .. visible(vim.trim(text)))
  if #messages > 100 then
    table.remove(messages, 1)
  end
  vim.notify(line, level or vim.log.levels.INFO)
end

-- Show `lines` as plain text in a window of their own, which `q` closes.
local function show(name, lines)
  local buffer = vim.fn.bufadd("handrail://" .. name)
  vim.fn.bufload(buffer)
  vim.bo[buffer].buftype = "nofile" -- first, so that no server is attached
  for option, value in pairs({ bufhidden = "hide", swapfile = false, filetype = "", modifiable = true }) do
    vim.bo[buffer][option] = value
  end
  vim.api.nvim_buf_set_lines(buffer, 0, -1, false, vim.split(table.concat(lines, "\n"), "\n"))
  vim.bo[buffer].modifiable = false
  if vim.fn.bufwinid(buffer) == -1 then
    vim.cmd("botright split")
    vim.api.nvim_win_set_buf(0, buffer)
  else
    vim.api.nvim_set_current_win(vim.fn.bufwinid(buffer))
  end
  vim.wo.wrap, vim.wo.list, vim.wo.conceallevel = true, false, 0
  vim.api.nvim_win_set_cursor(0, { 1, 0 })
  vim.keymap.set("n", "q", "<Cmd>close<CR>", { buffer = buffer })
  return buffer
end

-- The path of a document as people read it.
local function path_of(uri)
  return visible(vim.fn.fnamemodify(vim.uri_to_fname(uri), ":~:."))
end

-- A time of the server's, which is UTC, on the user's clock.
local function local_time(text)
  local year, month, day, hour, minute, second = text:match("^(%d+)-(%d+)-(%d+)T(%d+):(%d+):(%d+)")
  if not year then
    return visible(text)
  end
  -- os.time takes its fields for local time: what UTC's fields are then off by is the zone.
  local fields = { year = year, month = month, day = day, hour = hour, min = minute, sec = second, isdst = false }
  local naive = os.time(fields)
  local utc = os.date("!*t", naive)
  utc.isdst = false
  return os.date("%Y-%m-%d %H:%M", naive + os.difftime(naive, os.time(utc)))
end

-- `count` things, by name.
local function counted(count, name)
  return ("%d %s%s"):format(count, name, count == 1 and "" or "s")
end

-- Send a request of handrail's; what was typed in `buffer`, by default the current one, is told to the server before.
local function request(client, method, params, answered, failed, buffer)
  client:request("handrail/" .. method, params, function(problem, result)
    if problem then
      say(problem.message, vim.log.levels.ERROR)
      if failed then
        failed()
      end
    elseif answered then
      answered(result)
    end
  end, buffer)
end

-- Let the user choose one of `items`, labelled by `label`, of which `width` cells are shown: usually a line.
local function choose(items, prompt, label, use, width)
  local function format_item(item)
    return one_line(label(item), width or vim.o.columns - 10)
  end
  vim.ui.select(items, { prompt = prompt, format_item = format_item }, function(item)
    if item then
      use(item)
    end
  end)
end

-- ---- Documents of the server's

-- The folder that a document of the server's is about, if `name` is one in a workspace.
local function workspace_of(name)
  return name:match("^(.*)/%.handrail/[^/]+%.md$")
end

local function is_conversation(buffer)
  local folder, file = vim.api.nvim_buf_get_name(buffer):match("^(.*)/([^/]+)$")
  local is_served = folder and (folder:match("/%.handrail$") or folder:match("/handrail/.*served$"))
  return is_served and file:match("^chat%-[a-z0-9-]+%.md$") ~= nil
end

-- The client that serves a folder, however it is spelled.
local function client_in(folder)
  local place = vim.uv.fs_realpath(folder)
  for _, client in ipairs(vim.lsp.get_clients({ name = "handrail", _uninitialized = true })) do
    if client.root_dir == folder or place and client.root_dir and vim.uv.fs_realpath(client.root_dir) == place then
      return client
    end
  end
end

-- The folder that a buffer's server works in.
local function root_of(buffer)
  local folder = workspace_of(vim.api.nvim_buf_get_name(buffer))
  if folder then
    local client = client_in(folder)
    return client and client.root_dir or folder
  end
  local served = vim.b[buffer].handrail_root -- a document outside of the workspace
  return served or vim.fs.root(buffer, ".git") or vim.fn.getcwd()
end

-- Ask our server alone for what can be done at the lines of a buffer: the user may not want the lenses of others.
local function refresh_lenses(client, buffer)
  local take = vim.lsp.codelens.on_codelens
  if take and vim.g.handrail_lenses ~= false and vim.api.nvim_buf_is_loaded(buffer) then
    local params = { textDocument = vim.lsp.util.make_text_document_params(buffer) }
    client:request("textDocument/codeLens", params, take, buffer)
  end
end

local function refresh_all_lenses(client)
  for buffer in pairs(client and client.attached_buffers or {}) do
    if vim.fn.bufwinid(buffer) ~= -1 then
      refresh_lenses(client, buffer)
    end
  end
end

local function fold(buffer)
  for _, window in ipairs(vim.fn.win_findbuf(buffer)) do
    local options = vim.wo[window][0]
    options.foldmethod, options.foldexpr, options.foldlevel = "expr", "v:lua.vim.lsp.foldexpr()", 99
  end
end

-- What is known of a buffer's file without reading it: an editor asks before it writes over another one.
local function state_of_file(buffer)
  local found = vim.uv.fs_stat(vim.api.nvim_buf_get_name(buffer))
  return found and table.concat({ found.mtime.sec, found.mtime.nsec, found.size }, " ") or ""
end

local function note_file(buffer)
  vim.b[buffer].handrail_file = state_of_file(buffer)
end

-- Whether a buffer has all lines that its file has by now, in their order; empty ones do not count.
local function has_all_lines(buffer)
  local is_read, wanted = pcall(vim.fn.readfile, vim.api.nvim_buf_get_name(buffer))
  if not is_read then
    return false
  end
  wanted = vim.tbl_filter(function(line)
    return line ~= ""
  end, wanted)
  local found = 0
  for _, line in ipairs(vim.api.nvim_buf_get_lines(buffer, 0, -1, false)) do
    found = line == wanted[found + 1] and found + 1 or found
  end
  return found == #wanted
end

local function prepare_conversation(buffer)
  vim.bo[buffer].autoread = true
  fold(buffer)
  note_file(buffer)
  if vim.b[buffer].handrail_is_prepared then
    return
  end
  vim.b[buffer].handrail_is_prepared = true
  local function on(events, callback)
    vim.api.nvim_create_autocmd(events, { buffer = buffer, callback = callback })
  end
  on("BufWinEnter", function()
    fold(buffer)
  end)
  on({ "BufReadPost", "BufWritePost", "FileChangedShellPost" }, function()
    note_file(buffer)
  end)
  -- Without this, Neovim asks which text to use. The server adds to this one what the file has.
  on("FileChangedShell", function()
    vim.v.fcs_choice = vim.v.fcs_reason == "conflict" and "" or "ask"
  end)
  if vim.g.handrail_keys ~= false then
    for key, command in pairs({ s = "HandrailSend", x = "HandrailStop", n = "HandrailNew" }) do
      vim.keymap.set("n", "<localleader>" .. key, "<Cmd>" .. command .. "<CR>", { buffer = buffer, desc = command })
    end
  end
end

-- Load documents again that a command has changed on disk; what the user has not saved stays as it is.
local function reload(uris)
  for _, uri in ipairs(uris) do
    local buffer = vim.uri_to_bufnr(uri) -- `bufnr()` would take brackets in a name for a pattern
    if vim.api.nvim_buf_is_loaded(buffer) and not vim.bo[buffer].modified then
      local is_asked = not vim.bo[buffer].autoread
      if is_asked then
        vim.bo[buffer].autoread = true -- else Neovim asks the user
      end
      pcall(vim.cmd.checktime, buffer)
      if is_asked then
        vim.bo[buffer].autoread = false
      end
    end
  end
end

-- Show a document of the server's in a window, with the cursor where the user writes.
local function open(client, found)
  local buffer = vim.fn.bufadd(vim.uri_to_fname(found.uri))
  vim.b[buffer].handrail_root = client.root_dir
  vim.bo[buffer].buflisted = true
  local window = vim.fn.bufwinid(buffer)
  if window ~= -1 then
    vim.api.nvim_set_current_win(window)
  else
    local is_blank = vim.fn.bufname() == "" and vim.bo.buftype == "" and not vim.bo.modified
    if not is_blank then
      vim.cmd("botright split")
    end
    vim.api.nvim_win_set_buf(0, buffer)
  end
  vim.lsp.buf_attach_client(buffer, client.id)
  if is_conversation(buffer) then
    conversation = buffer
  end
  if found.line then
    local line = math.min(found.line + 1, vim.api.nvim_buf_line_count(buffer))
    local text = vim.api.nvim_buf_get_lines(buffer, line - 1, line, false)[1]
    vim.api.nvim_win_set_cursor(0, { line, #text })
    vim.cmd("normal! zvzb")
  end
end

-- ---- Which server

-- Why no server can start, if so.
local function missing()
  local program = type(vim.lsp.config.handrail.cmd) == "table" and vim.lsp.config.handrail.cmd[1] or "handrail"
  local hint = program:find("/") and "correct `cmd` in vim.lsp.config" or "install it or add it to the PATH"
  return vim.fn.executable(program) == 0 and ("`%s` was not found; %s"):format(program, hint) or nil -- for 80 columns
end

-- Start a server for a folder, or take the one that runs there, and give it these buffers.
local function start_server(root, buffers)
  local config = vim.deepcopy(vim.lsp.config.handrail)
  config.root_dir = root
  local id = vim.lsp.start(config, { attach = false })
  for _, buffer in ipairs(id and buffers or {}) do
    if vim.api.nvim_buf_is_loaded(buffer) then
      vim.lsp.buf_attach_client(buffer, id)
    end
  end
end

-- Call `use` with the client of the current buffer, or another one; if it has yet to start, once it has.
local function with_client(use)
  local own = vim.lsp.get_clients({ name = "handrail", bufnr = 0, _uninitialized = true })[1]
  local client = own or vim.lsp.get_clients({ name = "handrail" })[1]
  if client and client.initialized and not client:is_stopped() then
    return use(client)
  end
  if missing() then
    return say(missing(), vim.log.levels.ERROR)
  end
  say("the server is starting")
  if own or #vim.lsp.get_clients({ name = "handrail", _uninitialized = true }) > 0 then
    table.insert(waiting, { use, own and own.id })
  else
    local is_file = vim.bo.buftype == "" and vim.api.nvim_buf_get_name(0) ~= ""
    table.insert(waiting, { use })
    start_server(root_of(0), is_file and { vim.api.nvim_get_current_buf() } or {})
  end
end

-- What handrail does, in a few words.
function HandrailStatus()
  local activity, to_review
  for _, turn in pairs(running) do
    activity = (activity or "") == "" and turn.activity or activity
  end
  for _, count in pairs(pending) do
    to_review = (to_review or 0) + count
  end
  if #questions > 0 then
    return "handrail: waiting for you"
  elseif activity then
    return activity == "" and "handrail: thinking" or one_line("handrail: thinking: " .. activity, 60)
  elseif (to_review or 0) > 0 then
    return ("handrail: %d to review"):format(to_review)
  elseif #vim.lsp.get_clients({ name = "handrail" }) > 0 then
    return "handrail: idle"
  end
  return #vim.lsp.get_clients({ name = "handrail", _uninitialized = true }) > 0 and "handrail: starting" or ""
end

local function redraw_status()
  vim.cmd.redrawstatus({ bang = true })
end

-- ---- Turns

local COMMANDS = "terminal" -- the tool whose outcomes are files that a command has changed

-- How many edits, or files that commands have changed, have a status.
local function count(report, status, by_commands)
  return #vim.tbl_filter(function(outcome)
    local is_command = outcome.status == "landed" and outcome.tool == COMMANDS
    return (status == nil or outcome.status == status) and is_command == (by_commands or false)
  end, report.outcomes)
end

-- How a turn ended, and why; what became of its edits, and how many files its commands have changed.
local endings = { stopped = "ended early", cancelled = "stopped" } -- how a turn has ended, if in other words

local function ending(report)
  local told = {}
  if count(report) > 0 then
    local landed, failed, denied = count(report, "landed") + count(report, "already"), count(report, "failed"), count(report, "denied")
    table.insert(told, counted(landed, "edit") .. " landed" .. (failed > 0 and (", %d did not land"):format(failed) or "")
      .. (denied > 0 and (", %d denied"):format(denied) or ""))
  end
  if count(report, nil, true) > 0 then
    table.insert(told, "commands changed " .. counted(count(report, nil, true), "file"))
  end
  told = #told > 0 and table.concat(told, "; ") or nil
  if report.state == "finished" then
    return told or report.state
  end
  local reason = report.reason and report.reason ~= "" and (": " .. report.reason:gsub("%.$", "")) or ""
  return (endings[report.state] or report.state) .. reason .. (told and "; " .. told or "")
end

local function end_turn(turn, report)
  running[turn] = nil
  redraw_status()
  if report then
    last = report
    local said = report.state ~= "cancelled" and report.answer or "" -- what was cut off stands in the conversation
    local answer = said ~= "" and said or report.state == "finished" and report.reason or ""
    local level = report.state == "failed" and vim.log.levels.ERROR or nil
    say(ending(report) .. (answer ~= "" and ". " .. answer or ""), level)
  end
end

-- Something has happened in a turn, wherever it was begun.
local function follow(client, update)
  local turn, event = update.turn, update.event
  if event.kind == "started" then
    running[turn], session = { client = client, id = client.id, activity = "" }, update.session
    request(client, "turn/wait", { turn = turn }, function(report)
      end_turn(turn, report)
    end, function()
      end_turn(turn)
    end)
  elseif not running[turn] then
    return -- a late event
  elseif event.kind == "toolCall" then
    running[turn].activity = event.title
  elseif event.kind == "toolResult" then
    running[turn].activity = ""
  elseif event.kind == "ended" then
    running[turn].client = nil -- it cannot be stopped any more
  else
    return
  end
  redraw_status()
end

local function show_last()
  if not last then
    return say("no turn has ended yet")
  end
  local lines = { ending(last), "", visible(last.answer) }
  for _, outcome in ipairs(last.outcomes) do
    if outcome.failure then
      table.insert(lines, ("\n%s: %s"):format(path_of(outcome.uri), visible(outcome.failure.message)))
    end
  end
  show("last", lines)
end

-- What a command is about: lines, or characters if its range is that of such a selection.
local function selection(given)
  if given.range == 0 then
    return
  end
  local from, to = vim.api.nvim_buf_get_mark(0, "<"), vim.api.nvim_buf_get_mark(0, ">")
  local is_within_lines = vim.fn.visualmode() == "v" and from[1] == given.line1 and to[1] == given.line2
  if is_within_lines then
    local length = #vim.api.nvim_buf_get_lines(0, to[1] - 1, to[1], false)[1]
    to[2] = math.max(math.min(to[2], length - 1), 0)
  end
  return {
    buffer = vim.api.nvim_get_current_buf(), is_within_lines = is_within_lines, from = from, to = to,
    first = given.line1, last = given.line2,
  }
end

local function range_of(client, about)
  if about.is_within_lines then
    local encoding = client.offset_encoding
    return vim.lsp.util.make_given_range_params(about.from, about.to, about.buffer, encoding).range
  end
  return { start = { line = about.first - 1, character = 0 }, ["end"] = { line = about.last, character = 0 } }
end

-- Say something in the conversation, or write a quote in it.
local function say_there(client, text, about)
  local params = { text = text, send = text ~= nil }
  if about then
    params.uri, params.range = vim.uri_from_bufnr(about.buffer), range_of(client, about)
  end
  request(client, "chat/ask", params, function(found)
    if not text then
      open(client, found)
    elseif vim.fn.bufwinid(vim.uri_to_bufnr(found.uri)) == -1 and not (last and last.turn == found.turn) then
      say("sent; :Handrail shows the conversation")
    end
  end, nil, about and about.buffer)
end

local function apply_clipboard(client)
  local reply = vim.fn.getreg("+")
  if vim.trim(reply) == "" then
    return say("the clipboard is empty: copy a reply, then apply it")
  end
  request(client, "turn/start", { prompt = reply, pasted = true })
end

vim.api.nvim_create_user_command("Handrail", function(given)
  local about, text = selection(given), given.args ~= "" and given.args or nil
  with_client(function(client)
    if given.bang then
      apply_clipboard(client)
    elseif text or about then
      say_there(client, text, about)
    else
      request(client, "chat/open", vim.empty_dict(), function(found)
        open(client, found)
      end)
    end
  end)
end, {
  nargs = "*",
  bang = true,
  range = true,
  desc = "Open the conversation, or send a message in it; with a range, about these lines; "
    .. "with ! apply the edits of a copied reply",
})

local function command(name, does, description, options)
  vim.api.nvim_create_user_command(name, does, vim.tbl_extend("force", { desc = description }, options or {}))
end

command("HandrailNew", function()
  with_client(function(client)
    request(client, "chat/new", vim.empty_dict(), function(found)
      open(client, found)
    end)
  end)
end, "Begin another conversation")

command("HandrailSend", function()
  with_client(function(client)
    local params = vim.empty_dict()
    if is_conversation(0) then
      params = { uri = vim.uri_from_bufnr(0) }
    end
    local there = conversation and vim.api.nvim_buf_is_loaded(conversation) and conversation or nil
    request(client, "chat/send", params, nil, nil, not params.uri and there or nil)
  end)
end, "Send what you have written at the end of the conversation")

command("HandrailStop", function()
  local stopped = false
  for turn, known in pairs(running) do
    if known.client then
      stopped = true
      request(known.client, "turn/cancel", { turn = turn })
    end
  end
  if not stopped then
    say("nothing is running")
  end
end, "Stop all turns")

command("HandrailSessions", function()
  with_client(function(client)
    request(client, "session/list", vim.empty_dict(), function(sessions)
      if #sessions == 0 then
        return say("there is no earlier conversation")
      end
      choose(sessions, "Conversation:", function(each)
        return ("%s  %s  (%s)"):format(local_time(each.time), each.title, counted(each.turns, "turn"))
      end, function(each)
        request(client, "chat/open", { session = each.session }, function(found)
          open(client, found)
        end)
      end)
    end)
  end)
end, "Choose an earlier conversation and open it")

command("HandrailLast", show_last, "Show the last turn's answer, how it ended, and what did not land")
command("HandrailMessages", function()
  show("messages", #messages > 0 and messages or { "There are no messages yet." })
end, "Show in full the messages that were cut to one line")

-- ---- Review

local list -- the id of the quickfix list that has the changes

-- A change as a line: how large it is, and how it begins.
local function hunk_text(hunk)
  local function rows(text)
    local found = vim.split(text, "\n")
    return found[#found] == "" and #found - 1 or #found
  end
  if hunk.kind ~= "changed" then
    return ({ created = "created", deleted = "deleted", renamed = "renamed", whole = "changed (not a text file)" })[hunk.kind] or hunk.kind
  end
  local first = vim.trim(hunk.after ~= "" and hunk.after or hunk.before):match("^[^\n]*")
  return one_line(("+%d −%d  %s"):format(rows(hunk.after), rows(hunk.before), first), 100)
end

-- The entries of the list: what was decided since it was made stays in its place, and `:cnext` skips it.
local function entries(hunks, known)
  local found, left = {}, {}
  for _, hunk in ipairs(hunks) do
    left[hunk.id] = hunk
  end
  local function add(hunk)
    left[hunk.id] = nil
    table.insert(found, {
      bufnr = vim.uri_to_bufnr(hunk.uri), lnum = hunk.range.start.line + 1, col = 1, text = hunk_text(hunk),
      user_data = hunk.id, valid = 1,
    })
  end
  for _, each in ipairs(known) do
    if left[each.user_data] then
      add(left[each.user_data])
    else
      local text = each.valid == 0 and each.text or "kept or undone: " .. each.text
      table.insert(found, { bufnr = each.bufnr, lnum = each.lnum, text = text, user_data = each.user_data, valid = 0 })
    end
  end
  for _, hunk in ipairs(hunks) do
    if left[hunk.id] then
      add(hunk)
    end
  end
  return found
end

-- Bring the list up to date, if there is one.
local function refresh_list(client)
  if not list or vim.fn.getqflist({ id = list, size = 0 }).id ~= list then
    return
  end
  request(client, "review/list", vim.empty_dict(), function(hunks)
    local now = vim.fn.getqflist({ id = list, items = 0, idx = 0 })
    vim.fn.setqflist({}, "r", { id = list, items = entries(hunks, now.items or {}), idx = now.idx })
  end)
end

-- The ids of the changes at lines of the current buffer; in the quickfix list, of its entries there.
local function hunks_at(client, first, final, use)
  if vim.bo.buftype == "quickfix" then
    local ids = {}
    for _, entry in ipairs(vim.list_slice(vim.fn.getqflist(), first, final)) do
      if entry.valid == 1 and type(entry.user_data) == "string" then
        table.insert(ids, entry.user_data)
      end
    end
    return use(ids)
  end
  local rows = vim.api.nvim_buf_line_count(0)
  request(client, "review/list", { uri = vim.uri_from_bufnr(0) }, function(hunks)
    local ids = {}
    for _, hunk in ipairs(hunks) do
      local from = math.min(hunk.range.start.line + 1, rows)
      local to = math.max(from, hunk.range["end"].line)
      if from <= final and to >= first then
        table.insert(ids, hunk.id)
      end
    end
    use(ids)
  end)
end

local function undone(found)
  local told = counted(#found.hunks, "change") .. " undone"
  for _, conflict in ipairs(found.conflicts) do
    told = ("%s; one in %s was not: %s"):format(told, path_of(conflict.uri), conflict.reason)
    if conflict.editedByUser then
      told = told .. " The code action “Undo all of it, including what you typed” undoes the agent's change and yours."
    end
  end
  say(told, #found.conflicts > 0 and vim.log.levels.WARN or nil)
end

local function decide(method, tell)
  return function(given)
    with_client(function(client)
      hunks_at(client, given.line1, given.line2, function(ids)
        if #ids == 0 then
          return say("there is nothing to review here")
        end
        request(client, method, { hunks = ids }, tell)
      end)
    end)
  end
end

command("HandrailReview", function(given)
  with_client(function(client)
    if given.bang then
      return request(client, "review/open", vim.empty_dict(), function(found)
        open(client, found)
      end)
    end
    request(client, "review/list", vim.empty_dict(), function(hunks)
      if #hunks == 0 then
        return say("there is nothing to review")
      end
      vim.fn.setqflist({}, " ", { title = "handrail: changes to review", items = entries(hunks, {}) })
      list = vim.fn.getqflist({ id = 0 }).id
      local window = vim.api.nvim_get_current_win()
      vim.cmd("botright copen")
      vim.api.nvim_set_current_win(window)
      local go = #hunks == 1 and ":cc goes to it" or ":cc goes to the first, :cnext to the next"
      say(("%s to review: %s"):format(counted(#hunks, "change"), go))
    end)
  end)
end, "List the changes to review; with ! open the review document", { bang = true })
command("HandrailKeep", decide("review/keep", function(found)
  say(counted(#found.hunks, "change") .. " kept")
end), "Keep the changes here", { range = true })
command("HandrailUndo", decide("review/undo", undone), "Undo the changes here", { range = true })

-- ---- Checkpoints

local function tell_restored(report)
  local left = {}
  for _, each in ipairs(report.conflicts) do
    table.insert(left, ("%s was not restored: %s"):format(path_of(each.uri), each.reason))
  end
  for _, each in ipairs(report.partial) do
    table.insert(left, ("only a part of %s was restored: %s"):format(path_of(each.uri), each.reason))
  end
  local told = counted(#report.restored, "document") .. " restored"
  if #report.restored == 0 and #report.deleted > 0 then
    told = counted(#report.deleted, "document") .. " deleted"
  elseif #report.deleted > 0 then
    told = ("%s, %d deleted"):format(told, #report.deleted)
  end
  if #left == 0 then
    return say(told)
  end
  local lines = { told, "" }
  for number, each in ipairs(vim.list_extend(vim.list_extend({}, report.conflicts), report.partial)) do
    table.insert(lines, visible(left[number]))
    table.insert(lines, visible(each.diff or "") .. "\n")
  end
  show("restored", lines)
  say(told .. "; " .. table.concat(left, "; "), vim.log.levels.WARN)
end

local function confirm_restore(client, checkpoint, diff)
  local window = vim.api.nvim_get_current_win()
  local preview = show("restore", vim.list_extend({ "A restore undoes these changes:", "" }, {
    visible(checkpoint.name), "", visible(diff.text),
  }))
  vim.bo[preview].syntax = "diff"
  vim.cmd.redraw()
  local yes = one_line("Yes, undo: " .. checkpoint.name, vim.o.columns - 10)
  vim.ui.select({ "No", yes }, { prompt = "Undo these changes?", format_item = tostring }, function(answer)
    pcall(vim.api.nvim_buf_delete, preview, { force = true })
    if vim.api.nvim_win_is_valid(window) then
      vim.api.nvim_set_current_win(window)
    end
    if answer == yes then
      request(client, "checkpoint/restore", { checkpoint = checkpoint.id }, tell_restored)
    end
  end)
end

command("HandrailRestore", function()
  with_client(function(client)
    request(client, "checkpoint/list", vim.empty_dict(), function(checkpoints)
      if #checkpoints == 0 then
        return say("there is nothing to restore")
      end
      local first, others = {}, {}
      for _, each in ipairs(checkpoints) do
        table.insert(each.session == (session or checkpoints[1].session) and first or others, each)
      end
      choose(vim.list_extend(first, others), "Undo:", function(each)
        return ("%s  %s  (%s)"):format(local_time(each.time), each.name, counted(#each.paths, "document"))
      end, function(each)
        request(client, "checkpoint/diff", { checkpoint = each.id }, function(diff)
          confirm_restore(client, each, diff)
        end)
      end)
    end)
  end)
end, "Choose a turn, see what it changed, and undo it")

-- ---- Questions

-- A question interrupts nothing and takes no keys: a line in the corner says that it waits, and :HandrailAnswer shows
-- all of it, and takes one of its answers, typed in full. A question of the model takes any other text too.

local words = { deny = "no", allow = "yes", session = "conversation", always = "always" }

local function draw_banner()
  if banner and vim.api.nvim_win_is_valid(banner) then
    vim.api.nvim_win_close(banner, true)
  end
  banner = nil
  redraw_status()
  if #questions == 0 then
    return
  end
  local text = (" handrail is waiting for you (%d): :HandrailAnswer "):format(#questions)
  local buffer = vim.api.nvim_create_buf(false, true)
  vim.bo[buffer].bufhidden = "wipe"
  vim.api.nvim_buf_set_lines(buffer, 0, -1, false, { text })
  banner = vim.api.nvim_open_win(buffer, false, {
    relative = "editor", anchor = "NE", row = 0, col = vim.o.columns, width = #text, height = 1,
    style = "minimal", focusable = false, noautocmd = true,
  })
  vim.wo[banner].winhighlight = "Normal:WarningMsg"
end

local function forget(gone)
  questions = vim.tbl_filter(function(open)
    return not gone(open[1], open[2])
  end, questions)
  draw_banner()
  if shown and gone(shown[1], shown[2]) then
    vim.api.nvim_buf_delete(vim.fn.bufadd("handrail://question"), { force = true })
    shown = nil
  end
end

local function note(client, question)
  for _, open in ipairs(questions) do
    if open[2].id == question.id then
      return
    end
  end
  table.insert(questions, { client, question })
  draw_banner()
end

-- What can be typed to answer a question, in order, and the choice that each stands for. The first choice is "deny".
local function answers(question)
  local typed, choices = {}, {}
  for number, choice in ipairs(question.choices) do
    local word = words[choice] or choice
    if question.kind == "question" then
      word = choice == "deny" and "no answer" or ("answer %d"):format(number - 1)
    end
    table.insert(typed, word)
    choices[word] = choice
  end
  if question.kind == "question" then
    table.insert(typed, table.remove(typed, 1))
  end
  return typed, choices
end

-- For how many minutes a question still waits, as its server counts them; nil if that is not to be had at once.
local function minutes_left(client, question)
  local answer = client:request_sync("handrail/approval/list", vim.empty_dict(), 1000)
  for _, open in ipairs(answer and answer.result or {}) do
    if open.id == question.id then
      return math.ceil(open.secondsLeft / 60)
    end
  end
end

local MEANING = {
  yes = "yes: allow it once",
  conversation = "conversation: allow it in this conversation",
  always = "always: allow it in this workspace",
}
local HEADINGS = {
  question = "The model asks",
  appeared = "May this new file, which was moved away, be put back?",
  saving = "May this document be saved?",
}
local HEADINGS_OF_SEVERAL = {
  appeared = "May these new files, which were moved away, be put back?",
  saving = "May these documents be saved?",
}

local function show_question(client, question)
  local lines, left = {}, minutes_left(client, question)
  local function part(title, text)
    if text and text ~= "" then
      vim.list_extend(lines, { title, "", "    " .. visible(text, true):gsub("\n", "\n    "), "" })
    end
  end
  local is_own = question.kind == "question"
  local is_one = not question.subject:find(", ", 1, true) and not vim.endswith(question.subject, "/")
  part(question.tool == "handrail" and "May the turn continue?"
    or not is_one and HEADINGS_OF_SEVERAL[question.kind] or HEADINGS[question.kind]
    or ("May the agent use %s?"):format(visible(question.tool, true)), question.subject)
  part("In the folder", question.folder)
  part("Reason for this question", question.detail)
  part(question.kind ~= "appeared" and "What would be written" or is_one and "Its contents" or "Their contents", question.diff)
  local typed, choices = answers(question)
  local adding = vim.tbl_filter(function(word) return word == "conversation" or word == "always" end, typed)
  part(("Rules that the answer '%s' adds"):format(table.concat(adding, "' or '")), table.concat(question.rules or {}, "\n"))
  if #adding > 0 then
    local told = vim.tbl_filter(function(word) return MEANING[word] end, typed)
    vim.list_extend(lines, { table.concat(vim.tbl_map(function(word) return MEANING[word] end, told), "; "), "" })
  end
  for _, word in ipairs(is_own and typed or {}) do
    part(word, choices[word] ~= "deny" and choices[word] or nil)
  end
  if is_own then
    vim.list_extend(lines, { "no answer: the turn continues without an answer", "" })
  end
  local after = is_own and "; without an answer within %s, the turn continues" or "; without an answer within %s, the answer is no"
  table.insert(lines, "Answer with :HandrailAnswer" .. (left and after:format(counted(left, "minute")) or ""))
  show("question", lines)
end

local function ask(open)
  local client, question = open[1], open[2]
  local typed, choices = answers(question)
  show_question(client, question)
  shown = open
  vim.cmd.redraw()
  local own = question.takesText and ", or your own answer" or ""
  local prompt = ("Type %s%s (empty to answer later): "):format(table.concat(typed, ", "), own)
  vim.ui.input({ prompt = prompt }, function(word)
    local choice = choices[word or ""]
    if question.takesText and word and word:find("%S") then
      choice = choice or choices["answer " .. word] or word
    end
    if not vim.tbl_contains(questions, open) then
      say("that question has ended")
    elseif choice then
      request(client, "approval/answer", { approval = question.id, choice = choice })
    else
      vim.cmd.redraw() -- what is said then does not follow the prompt, beyond the end of the line
      local typo = word and word ~= "" and ("%q is not one of the answers; "):format(visible(word)) or ""
      say(typo .. "the question stays open")
    end
  end)
end

command("HandrailAnswer", function()
  if #questions == 0 then
    say("no question is waiting for you")
  elseif #questions == 1 then
    ask(questions[1])
  else
    choose(questions, "Question:", function(open)
      return open[2].subject
    end, ask)
  end
end, "Show a question that is waiting for you, and answer it")
command("HandrailRules", function()
  with_client(function(client)
    request(client, "rules/list", vim.empty_dict(), function(rules)
      if #rules == 0 then
        return say("there are no rules from your answers")
      end
      choose(rules, "Remove the rule:", function(rule)
        return rule.text
      end, function(rule)
        request(client, "rules/remove", { rule = rule.id }, function()
          say("the rule was removed")
        end)
      end, math.huge) -- a rule may end in what differs
    end)
  end)
end, "Choose a rule that an answer has added, and remove it")

-- ---- The server

-- The buffers of an edit: that of a document which is not loaded has nothing to undo.
local function buffers_of(edit)
  local found = {}
  for _, change in ipairs(edit.documentChanges or {}) do
    if change.textDocument then
      table.insert(found, vim.uri_to_bufnr(change.textDocument.uri))
    end
  end
  for uri in pairs(edit.changes or {}) do
    table.insert(found, vim.uri_to_bufnr(uri))
  end
  return vim.tbl_filter(vim.api.nvim_buf_is_loaded, found)
end

-- Close the undo step: an edit that arrives between two typed words would be one with them, and an undo would give a
-- text that never was. That setting this option does so is documented (`:h undo-break`).
local function break_undo(buffers)
  for _, buffer in ipairs(buffers) do
    vim.bo[buffer].undolevels = vim.bo[buffer].undolevels
  end
end

-- Whether an edit is of a text that has changed since; Neovim would leave such an edit out, and say that it was made.
local function is_stale(edit)
  local change = edit.documentChanges and #edit.documentChanges == 1 and edit.documentChanges[1].textDocument
  local version = change and change.version
  return type(version) == "number" and version > 0
    and (vim.lsp.util.buf_versions[vim.uri_to_bufnr(change.uri)] or 0) > version
end

-- Whether a document that is not in the workspace is one of the server's.
local function note_root(client, uri)
  if uri:match("^file:") and vim.uri_to_fname(uri):match("/handrail/.*served/[^/]+$") then
    vim.b[vim.fn.bufadd(vim.uri_to_fname(uri))].handrail_root = client.root_dir
  end
end

local function lost(id)
  local had_turn = false
  for turn, known in pairs(running) do
    if known.id == id then
      had_turn, running[turn] = had_turn or known.client ~= nil, nil
    end
  end
  pending[id] = nil
  forget(function(client)
    return client.id == id
  end)
  return had_turn and " while a turn was running" or ""
end

-- Start a server again that has ended by itself, unless it does so again and again.
local function start_again(client, buffers)
  local now = vim.uv.now()
  crashes = vim.tbl_filter(function(time)
    return now - time < 60000
  end, crashes)
  table.insert(crashes, now)
  if #crashes > 3 then
    return false
  end
  vim.schedule(function() -- once Neovim has forgotten the old client
    table.insert(waiting, 1, { function(other)
      say("the server was restarted")
      refresh_all_lenses(other)
    end })
    start_server(client.root_dir, buffers)
  end)
  return true
end

local exit -- how the last server ended, before Neovim was told

-- Neovim tells of a server's end in a line that waits for ENTER, so it is told that all is well, and we tell.
local function serve(dispatchers)
  return vim.lsp.rpc.start({ "handrail", "serve" }, vim.tbl_extend("force", dispatchers, {
    on_exit = function(code, signal)
      exit = { code, signal }
      dispatchers.on_exit(0, 0)
    end,
  }))
end

local function ended(code, signal, id)
  code, signal = unpack(exit or { code, signal })
  exit = nil
  local client = vim.lsp.get_client_by_id(id)
  local was_asked = signal == 15 or signal == 0 and (code == 0 or code == 143)
  vim.schedule(function()
    if vim.v.exiting ~= vim.NIL then
      return -- with Neovim
    end
    local buffers = client and vim.tbl_keys(client.attached_buffers) or {}
    local turn = lost(id)
    if was_asked then
      say("the server was stopped" .. turn)
    elseif client and start_again(client, buffers) then
      say(("the server has ended%s; it is being restarted"):format(turn), vim.log.levels.ERROR)
    else
      local told = "the server keeps ending; :Handrail restarts it" -- short, for 80 columns
      say(told .. (turn ~= "" and (" (it ended%s)"):format(turn) or ""), vim.log.levels.ERROR)
    end
    redraw_status()
  end)
end

local function started(client)
  local offered = vim.tbl_get(client.server_capabilities, "experimental", "handrail", "requests") or {}
  local function ask_for(method, answered)
    if vim.tbl_contains(offered, "handrail/" .. method) then -- else it is an older server
      request(client, method, vim.empty_dict(), answered)
    end
  end
  ask_for("approval/list", function(open_ones)
    for _, question in ipairs(open_ones) do
      note(client, question)
    end
  end)
  ask_for("review/list", function(hunks)
    pending[client.id] = #hunks
    redraw_status()
  end)
  vim.schedule(function() -- once its buffers are attached
    local all = waiting
    waiting = {}
    for _, each in ipairs(all) do
      local use, id = unpack(each)
      if id and id ~= client.id then
        table.insert(waiting, each)
      else
        use(client)
      end
    end
    redraw_status()
  end)
end

-- ---- What other servers report

local reports = {} -- the version that the last report of a client on a buffer is of, by buffer and by the client's id
local reporting = {} -- the clients that have ever reported anything, by their ids
local waiting_for_reports = {} -- what looks again when something is reported
local reported_at = 0 -- when something was reported last, by the clock of the event loop
local attached_at = {} -- when the latest server was attached to a buffer
local QUIET_MS = 200 -- after a report of one document others may follow
local LOOK_MS = 50 -- so often one looks whether servers have come to an end
local OWN = { handrail = true, ["handrail review"] = true } -- the sources of diagnostics of handrail's own
local MOST_OTHERS = 101 -- of a document that was not asked for; with more the server ignores it
local SETTLED_MS = 3000 -- a server that has not reported on a buffer by then has found nothing

local function note_report(buffer, client_id, version)
  reports[buffer] = reports[buffer] or {}
  reports[buffer][client_id] = version
  reporting[client_id] = true
  reported_at = vim.uv.now()
  for _, look in ipairs(vim.list_slice(waiting_for_reports)) do
    look()
  end
end

-- Servers publish what they find; Neovim does not keep which version that is of.
local show_published = vim.lsp.handlers["textDocument/publishDiagnostics"]
vim.lsp.handlers["textDocument/publishDiagnostics"] = function(problem, params, context, ...)
  local shown = show_published(problem, params, context, ...)
  local buffer = params and vim.fn.bufnr(vim.uri_to_fname(params.uri)) or -1
  if buffer ~= -1 and vim.api.nvim_buf_is_loaded(buffer) then
    note_report(buffer, context.client_id, params.version or vim.lsp.util.buf_versions[buffer])
  end
  return shown
end

-- The other servers of a buffer that report problems, as far as is known.
local function reporters(buffer)
  return vim.tbl_filter(function(client)
    local reports_problems = client:supports_method("textDocument/diagnostic", buffer) or reporting[client.id]
    return client.name ~= "handrail" and client.initialized and reports_problems
  end, vim.lsp.get_clients({ bufnr = buffer }))
end

-- Ask the servers that report only when they are asked; the others report by themselves. `count` is told 1 for each
-- question and -1 for each answer.
local function pull_reports(buffer, count)
  for _, client in ipairs(reporters(buffer)) do
    if client:supports_method("textDocument/diagnostic", buffer) then
      local params = { textDocument = vim.lsp.util.make_text_document_params(buffer) }
      local is_asked = client:request("textDocument/diagnostic", params, function(problem, result, context)
        count(-1)
        local version = vim.lsp.util.buf_versions[buffer]
        if not problem and result and result.kind == "full" and context.version == version then
          vim.lsp.diagnostic.on_diagnostic(problem, result, context)
          note_report(buffer, client.id, version)
        end
      end, buffer)
      count(is_asked and 1 or 0)
    end
  end
end

-- The problems of a buffer that others report, of severity `least` or worse, as LSP has them, with positions as `client`
-- counts them.
local function problems_of(client, buffer, least)
  local function position(line, byte)
    local row = vim.api.nvim_buf_get_lines(buffer, line, line + 1, false)[1] or ""
    local units = vim.str_utfindex(row, client.offset_encoding, math.min(byte, #row), false)
    return { line = line, character = units }
  end
  local found = {}
  for _, each in ipairs(vim.diagnostic.get(buffer)) do
    if not OWN[each.source] and #found <= 1000 and each.severity <= (least or vim.diagnostic.severity.HINT) then
      table.insert(found, {
        range = { start = position(each.lnum, each.col), ["end"] = position(each.end_lnum, each.end_col) },
        message = each.message,
        severity = each.severity,
        source = each.source,
        code = each.code and tostring(each.code) or nil,
      })
    end
  end
  return found
end

local function all_problems(client)
  local found = {}
  for _, buffer in ipairs(vim.api.nvim_list_bufs()) do
    local problems = vim.api.nvim_buf_is_loaded(buffer) and problems_of(client, buffer) or {}
    if #problems > 0 then
      table.insert(found, { uri = vim.uri_from_bufnr(buffer), diagnostics = problems })
    end
  end
  return { documents = found }
end

-- Whether all servers of a buffer have reported on the text that it has.
local function is_reported(buffer)
  local version = vim.lsp.util.buf_versions[buffer]
  return vim.iter(reporters(buffer)):all(function(client)
    return vim.tbl_get(reports, buffer, client.id) == version
  end)
end

-- Whether the text that a buffer has is reported on, as far as is known, though nobody waits for it: a server that has
-- found nothing in a buffer need not say so.
local function is_known(buffer)
  local version = vim.lsp.util.buf_versions[buffer]
  local is_settled = vim.uv.now() - (attached_at[buffer] or 0) >= SETTLED_MS
  local servers = reporters(buffer)
  return #servers > 0 and vim.iter(servers):all(function(client)
    local reported = vim.tbl_get(reports, buffer, client.id)
    return reported == version or (reported == nil and is_settled)
  end)
end

-- The errors and warnings of documents that were not changed.
local function reports_on_others(client, others)
  local found = {}
  for _, document in ipairs(others) do
    local buffer = vim.fn.bufnr(vim.uri_to_fname(document.uri))
    if buffer ~= -1 and vim.api.nvim_buf_is_loaded(buffer) and is_known(buffer) then
      local version = vim.lsp.util.buf_versions[buffer]
      local problems = vim.list_slice(problems_of(client, buffer, vim.diagnostic.severity.WARN), 1, MOST_OTHERS)
      table.insert(found, { uri = document.uri, version = version, diagnostics = problems })
    end
  end
  return found
end

-- Give `answer` the problems of documents once all servers have reported on them, or the time is over; and those of
-- others once no server reports any more.
local function wait_for_reports(client, params, answer)
  local result, left = { documents = {}, unwatched = {} }, {}
  local others = type(params.others) == "table" and params.others or nil
  local deadline, pulling = vim.uv.now() + params.waitMs, 0
  for _, document in ipairs(params.documents) do
    local buffer = vim.fn.bufnr(vim.uri_to_fname(document.uri))
    if buffer == -1 or not vim.api.nvim_buf_is_loaded(buffer) or #reporters(buffer) == 0 then
      table.insert(result.unwatched, document.uri)
    else
      left[document.uri] = buffer
    end
  end
  local timer = assert(vim.uv.new_timer())
  local function look()
    for uri, buffer in pairs(left) do
      if vim.api.nvim_buf_is_loaded(buffer) and is_reported(buffer) then
        left[uri] = nil
        local version = vim.lsp.util.buf_versions[buffer]
        table.insert(result.documents, { uri = uri, version = version, diagnostics = problems_of(client, buffer) })
      end
    end
    local is_quiet = pulling == 0 and vim.uv.now() - reported_at >= QUIET_MS
    local is_done = next(left) == nil and (is_quiet or not others)
    if not timer:is_closing() and (is_done or vim.uv.now() >= deadline) then
      timer:close()
      waiting_for_reports = vim.tbl_filter(function(other)
        return other ~= look
      end, waiting_for_reports)
      result.others = others and is_quiet and reports_on_others(client, others) or nil
      answer(result)
    end
  end
  table.insert(waiting_for_reports, look)
  timer:start(LOOK_MS, LOOK_MS, vim.schedule_wrap(look))
  local function count(change)
    pulling = pulling + change
  end
  for _, buffer in pairs(left) do
    pull_reports(buffer, count)
  end
  for _, document in ipairs(others or {}) do
    local buffer = vim.fn.bufnr(vim.uri_to_fname(document.uri))
    if buffer ~= -1 and vim.api.nvim_buf_is_loaded(buffer) then
      pull_reports(buffer, count)
    end
  end
  look()
end

-- What `begin` gives to its argument, now or later; Neovim runs handlers as coroutines.
local function later(begin)
  local thread, answer, is_waiting = coroutine.running(), nil, false
  begin(function(found)
    answer = found
    if is_waiting then
      coroutine.resume(thread)
    end
  end)
  if answer == nil then
    is_waiting = true
    coroutine.yield()
  end
  return answer
end

local function client_of(context)
  return vim.lsp.get_client_by_id(context.client_id)
end

-- Ask the other servers what they know of names: definitions, references, symbols.

-- A position in a line as another encoding counts it.
local function recounted(row, position, from, to)
  local byte = vim.str_byteindex(row, from, position.character, false)
  return { line = position.line, character = vim.str_utfindex(row, to, byte, false) }
end

-- The other servers that answer `method` for the file `path`, which no loaded buffer holds.
local function servers_of_file(path, method)
  local filetype = vim.filetype.match({ filename = path })
  return vim.tbl_filter(function(client)
    local root, filetypes = client.root_dir, client.config.filetypes
    return client.name ~= "handrail"
      and client.initialized
      and client:supports_method(method)
      and (root ~= nil and vim.fs.relpath(root, path) ~= nil)
      and (filetypes == nil or vim.tbl_contains(filetypes, filetype))
  end, vim.lsp.get_clients()),
    filetype
end

local function text_of(path)
  local file = io.open(path, "rb")
  local text = file and file:read("*a") or ""
  if file then
    file:close()
  end
  return text
end

-- Open the file `path` with a server, which needs that to answer; returns what closes it again.
local function open_with(client, path, text, filetype)
  local uri = vim.uri_from_fname(path)
  local language = client.get_language_id and client.get_language_id(-1, filetype) or filetype
  client:notify("textDocument/didOpen", {
    textDocument = { uri = uri, languageId = language or "", version = 0, text = text },
  })
  return function()
    client:notify("textDocument/didClose", { textDocument = { uri = uri } })
  end
end

-- Give `answer` what all `clients` answer, each as `read` has it; null once the time is over or none can answer.
local function gather(clients, wait_ms, send, read, answer)
  local timer, left, is_known, found = assert(vim.uv.new_timer()), #clients, false, {}
  local function finish(with)
    if not timer:is_closing() then
      timer:close()
      answer(with)
    end
  end
  timer:start(wait_ms, 0, vim.schedule_wrap(function()
    finish(vim.NIL)
  end))
  for _, client in ipairs(clients) do
    send(client, function(problem, result)
      left, is_known = left - 1, is_known or not problem
      if not problem and result then
        read(result, found)
      end
      if left == 0 then
        finish(is_known and found or vim.NIL)
      end
    end)
  end
end

-- The clients to ask about a document, and how to ask each of them.
local function askable(client, params, method)
  local path = vim.uri_to_fname(params.uri)
  local buffer = vim.fn.bufnr(path)
  if buffer ~= -1 and vim.api.nvim_buf_is_loaded(buffer) then
    local others = vim.tbl_filter(function(other)
      return other.name ~= "handrail" and other.initialized and other:supports_method(method, buffer)
    end, vim.lsp.get_clients({ bufnr = buffer }))
    local line = params.position and params.position.line or 0
    local row = vim.api.nvim_buf_get_lines(buffer, line, line + 1, false)[1] or ""
    return others, function(other, extra, answered)
      local at = params.position and recounted(row, params.position, client.offset_encoding, other.offset_encoding)
      local asked = { textDocument = { uri = params.uri }, position = at }
      other:request(method, vim.tbl_extend("force", asked, extra), answered, buffer)
    end
  end
  local others, filetype = servers_of_file(path, method)
  return others, function(other, extra, answered)
    local text = text_of(path)
    local row = params.position and vim.split(text, "\n")[params.position.line + 1] or ""
    local at = params.position and recounted(row, params.position, client.offset_encoding, other.offset_encoding)
    local close = open_with(other, path, text, filetype)
    local asked = { textDocument = { uri = params.uri }, position = at }
    local was_sent = other:request(method, vim.tbl_extend("force", asked, extra), function(...)
      close()
      answered(...)
    end)
    if not was_sent then
      close()
    end
  end
end

-- Places, of which servers answer one, a list, or links.
local function read_locations(result, found)
  for _, each in ipairs(vim.islist(result) and result or { result }) do
    if #found <= 1000 then
      table.insert(found, { uri = each.uri or each.targetUri, range = each.range or each.targetSelectionRange })
    end
  end
end

-- Names, of which servers answer a list or a tree.
local function read_symbols(uri)
  local function read(result, found, container)
    for _, each in ipairs(result) do
      if #found <= 1000 then
        local location = each.location or { uri = uri, range = each.selectionRange }
        table.insert(found, {
          name = each.name,
          kind = each.kind,
          containerName = each.containerName or container,
          location = { uri = location.uri, range = location.range },
        })
        read(each.children or {}, found, each.name)
      end
    end
  end
  return read
end

local function find_name(method, extra)
  return function(_, params, context)
    local others, ask = askable(client_of(context), params, method)
    if #others == 0 then
      return { locations = vim.NIL }
    end
    local found = later(function(answer)
      gather(others, params.waitMs, function(other, answered)
        ask(other, extra, answered)
      end, read_locations, answer)
    end)
    return found == vim.NIL and vim.NIL or { locations = found }
  end
end

local function find_symbols(_, params, context)
  local others, ask
  if type(params.uri) == "string" then
    others, ask = askable(client_of(context), params, "textDocument/documentSymbol")
  else
    others = vim.tbl_filter(function(other)
      return other.name ~= "handrail" and other.initialized and other:supports_method("workspace/symbol")
    end, vim.lsp.get_clients())
    ask = function(other, _, answered)
      other:request("workspace/symbol", { query = params.query }, answered)
    end
  end
  if #others == 0 then
    return { symbols = vim.NIL }
  end
  local found = later(function(answer)
    gather(others, params.waitMs, function(other, answered)
      ask(other, {}, answered)
    end, read_symbols(params.uri), answer)
  end)
  return found == vim.NIL and vim.NIL or { symbols = found }
end

vim.lsp.config("handrail", {
  cmd = serve,
  root_dir = function(buffer, start_in)
    if not missing() then
      start_in(root_of(buffer))
    end
  end,
  capabilities = { workspace = { codeLens = { refreshSupport = true } } },
  init_options = {
    handrail = {
      approvals = true,
      turnUpdates = true,
      services = { "reload", "review", "diagnostics", "definition", "references", "symbols" },
    },
  },
  handlers = {
    ["handrail/approval/request"] = function(_, question, context)
      note(client_of(context), question)
      refresh_all_lenses(client_of(context))
      return vim.NIL -- not an answer: that follows
    end,
    ["handrail/approval/ended"] = function(_, gone)
      forget(function(_, question)
        return question.id == gone.approval
      end)
    end,
    ["handrail/turn/update"] = function(_, update, context)
      follow(client_of(context), update)
    end,
    ["handrail/review/changed"] = function(_, changed, context)
      pending[context.client_id] = changed.pending
      redraw_status()
      refresh_list(client_of(context))
    end,
    ["handrail/client/reload"] = function(_, params)
      reload(params.uris)
    end,
    ["handrail/client/diagnostics"] = function(_, params, context)
      local client = client_of(context)
      if type(params.documents) ~= "table" then
        return all_problems(client)
      end
      return later(function(answer)
        wait_for_reports(client, params, answer)
      end)
    end,
    ["handrail/client/definition"] = find_name("textDocument/definition", {}),
    ["handrail/client/references"] = find_name("textDocument/references", {
      context = { includeDeclaration = true },
    }),
    ["handrail/client/symbols"] = find_symbols,
    ["workspace/applyEdit"] = function(problem, params, context)
      if is_stale(params.edit) then
        return { applied = false, failureReason = "the document has changed since" }
      end
      params.label = nil -- Neovim would print it
      local buffers = buffers_of(params.edit)
      break_undo(buffers)
      local answer = vim.lsp.handlers["workspace/applyEdit"](problem, params, context)
      break_undo(buffers)
      return answer
    end,
    ["workspace/codeLens/refresh"] = function(_, _, context)
      refresh_all_lenses(client_of(context))
      return vim.NIL
    end,
    ["workspace/executeCommand"] = function(problem)
      if problem then
        say(problem.message, vim.log.levels.ERROR)
      end
    end,
    ["window/showDocument"] = function(problem, params, context)
      note_root(client_of(context), params.uri)
      return vim.lsp.handlers["window/showDocument"](problem, params, context)
    end,
    ["window/showMessage"] = function(_, params)
      local levels = { vim.log.levels.ERROR, vim.log.levels.WARN }
      say(params.message:gsub("^handrail: ", ""), levels[params.type])
    end,
  },
  on_init = started,
  on_exit = ended,
})
vim.lsp.enable("handrail")

local group = vim.api.nvim_create_augroup("handrail", {})

local function on(events, callback)
  vim.api.nvim_create_autocmd(events, { group = group, callback = callback })
end

on("LspAttach", function(attached)
  attached_at[attached.buf] = vim.uv.now()
  local client = vim.lsp.get_client_by_id(attached.data.client_id)
  if client and client.name == "handrail" then
    if is_conversation(attached.buf) then
      prepare_conversation(attached.buf)
    end
    refresh_lenses(client, attached.buf)
  end
end)
on({ "BufEnter", "InsertLeave", "CursorHold" }, function(where)
  local client = vim.lsp.get_clients({ name = "handrail", bufnr = where.buf })[1]
  if client then
    refresh_lenses(client, where.buf)
  end
end)
on("BufWinEnter", function(entered)
  local buffer = vim.bo[entered.buf]
  local name = vim.api.nvim_buf_get_name(entered.buf)
  if name == "" or buffer.buftype ~= "" then
    return
  end
  -- Neovim attaches servers by file type: a file of no known type is text.
  if buffer.filetype == "" then
    buffer.filetype = "text"
  end
  -- Documents of the server's reach it whatever file types it is set up for.
  if workspace_of(name) or vim.b[entered.buf].handrail_root then
    vim.schedule(function()
      local client = vim.api.nvim_buf_is_loaded(entered.buf) and client_in(root_of(entered.buf))
      if client then
        vim.lsp.buf_attach_client(entered.buf, client.id)
      end
    end)
  end
end)
-- A conversation is written down when Neovim is left: it holds what the server wrote, and what the user has not sent.
on("QuitPre", function()
  for _, buffer in ipairs(vim.api.nvim_list_bufs()) do
    local is_written = not vim.api.nvim_buf_is_loaded(buffer) or not vim.bo[buffer].modified
    if not is_written and is_conversation(buffer) then
      if vim.b[buffer].handrail_file == state_of_file(buffer) or has_all_lines(buffer) then
        vim.api.nvim_buf_call(buffer, function()
          vim.cmd("silent! write!")
        end)
      end
    end
  end
end)
on("VimResized", draw_banner)
