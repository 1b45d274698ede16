-- Drives a Neovim that was set up by handrail.lua as a user would, and writes down what it holds.
--
-- The steps of a test run as a coroutine beside the main loop, so that typed keys, undo steps and delayed
-- `didChange`s are those of everyday use. $HANDRAIL_TEST names a JSON file: which steps to run, with which
-- values, and where the record goes. Only what is awaited is checked here; Python judges the record.

local LIMIT_MS = 20000 -- less than the time that Python gives the whole process
local run = vim.json.decode(vim.fn.readblob(vim.env.HANDRAIL_TEST))
local record = { messages = {} }
local drive = { values = run.values, record = record }

vim.lsp.set_log_level("debug")
vim.lsp.config("handrail", run.config)
local notify = vim.notify
vim.notify = function(message, ...)
  table.insert(record.messages, message)
  if run.values.screen then
    notify(message, ...)
  end
end
if not run.values.screen then
  vim.o.more = false
end

-- A Neovim without a screen has no clipboard.
local function pasted()
  return { vim.split(run.clipboard or "", "\n"), "v" }
end
local function copied() end
vim.g.clipboard = {
  name = "test",
  copy = { ["+"] = copied, ["*"] = copied },
  paste = { ["+"] = pasted, ["*"] = pasted },
}

-- Let Neovim go on until `holds()`.
function drive.await(what, holds)
  local steps, timer, began = coroutine.running(), assert(vim.uv.new_timer()), vim.uv.now()
  local function look()
    if not timer:is_closing() and (holds() or vim.uv.now() - began > LIMIT_MS) then
      timer:close()
      coroutine.resume(steps)
    end
  end
  timer:start(0, 5, vim.schedule_wrap(look))
  coroutine.yield()
  assert(holds(), "waited in vain for " .. what)
end

-- Open a file and wait until the server knows; returns its buffer.
function drive.open(name)
  vim.cmd.edit(name)
  local buffer = vim.api.nvim_get_current_buf()
  drive.await("the server to get " .. name, function()
    local client = vim.lsp.get_clients({ name = "handrail", bufnr = buffer })[1]
    return client and client.initialized
  end)
  return buffer
end

-- The lines of a buffer, joined by LF.
function drive.text(buffer)
  return table.concat(vim.api.nvim_buf_get_lines(buffer, 0, -1, false), "\n")
end

-- Press keys as a user does, and wait until the document shows it.
function drive.press(buffer, keys)
  local before = drive.text(buffer)
  vim.api.nvim_set_current_buf(buffer)
  vim.api.nvim_input(keys)
  drive.await(keys .. " to change the document", function()
    return drive.text(buffer) ~= before and vim.api.nvim_get_mode().mode == "n"
  end)
end

-- Wait for a message that holds `wanted`, after the first `known` ones.
function drive.await_message(wanted, known)
  drive.await("the message " .. wanted, function()
    return vim.iter(vim.list_slice(record.messages, known + 1)):any(function(message)
      return message:find(wanted, 1, true) ~= nil
    end)
  end)
end

-- Run an ex command and wait for a message that holds `wanted`.
function drive.command(line, wanted)
  local known = #record.messages
  vim.cmd(line)
  drive.await_message(wanted, known)
end

-- When Neovim next lets the user choose, choose the item that holds `wanted`; returns all items, then.
function drive.choose(wanted)
  local offered = {}
  vim.ui.select = function(items, options, choose)
    local chosen
    for _, item in ipairs(items) do
      table.insert(offered, (options.format_item(item)))
      chosen = chosen or (offered[#offered]:find(wanted, 1, true) and item or nil)
    end
    choose(chosen)
  end
  return offered
end

-- Do `before` and `after` around each time that Neovim applies an edit of the server's; given its number.
function drive.around_edits(before, after)
  local method, number = "workspace/applyEdit", 0
  local apply = vim.lsp.handlers[method]
  vim.lsp.handlers[method] = function(...)
    number = number + 1
    before(number)
    local answer = apply(...)
    after(number)
    return answer
  end
end

-- What stands on the screen, row by row.
function drive.screen()
  vim.cmd.redraw()
  local rows = {}
  for row = 1, vim.o.lines do
    local cells = {}
    for column = 1, vim.o.columns do
      table.insert(cells, vim.fn.screenstring(row, column))
    end
    table.insert(rows, vim.trim(table.concat(cells)))
  end
  return rows
end

-- Let `seconds` pass for the servers, counted from their start; else their time stands still.
function drive.pass_time(seconds)
  vim.fn.writefile({ tostring(seconds) }, run.clock .. ".new")
  assert(vim.uv.fs_rename(run.clock .. ".new", run.clock))
end

-- Let the model say its next piece.
function drive.go_on()
  local host, port = run.values.model:match("//([%d.]+):(%d+)")
  local socket = assert(vim.uv.new_tcp())
  socket:connect(host, tonumber(port), function(problem)
    assert(not problem, problem)
    socket:write("GET /next HTTP/1.0\r\n\r\n", function()
      socket:read_start(function(_, data)
        if not data then
          socket:close()
        end
      end)
    end)
  end)
end

-- Have the server of a client end as the system does when memory is short.
function drive.kill_servers()
  for _, pid in ipairs(vim.api.nvim_get_proc_children(vim.fn.getpid())) do
    vim.uv.kill(pid, "sigkill")
  end
end

-- The result of a request to a client's server.
function drive.request(client, method, params)
  local answer
  client:request("handrail/" .. method, params or vim.empty_dict(), function(problem, result)
    answer = { problem = problem and problem.message, result = result }
  end)
  drive.await("the answer to " .. method, function()
    return answer
  end)
  return answer.result, answer.problem
end

-- What says that questions wait, if it is there.
function drive.banner()
  for _, window in ipairs(vim.api.nvim_list_wins()) do
    if vim.api.nvim_win_get_config(window).relative ~= "" then
      return drive.text(vim.api.nvim_win_get_buf(window))
    end
  end
end

-- Type `keys`, and wait until `holds()`.
function drive.type(keys, holds)
  vim.api.nvim_input(keys)
  drive.await(keys, holds)
end

-- Type `keys`, and wait until what they lead to is said.
function drive.say(keys, wanted)
  local known = #record.messages
  vim.api.nvim_input(keys)
  drive.await_message(wanted, known)
  drive.await("normal mode after " .. keys, function()
    return vim.api.nvim_get_mode().mode == "n"
  end)
end

-- Type :HandrailAnswer, and wait until an answer can be typed.
function drive.answer()
  vim.api.nvim_input(":HandrailAnswer<CR>")
  drive.await("the place for an answer", function()
    return vim.api.nvim_get_mode().mode == "c" and vim.fn.getcmdline() == ""
  end)
end

-- The text of a buffer with the line ends that it has in the file.
local function as_written(buffer)
  local eol = ({ unix = "\n", dos = "\r\n", mac = "\r" })[vim.bo[buffer].fileformat]
  local lines = vim.api.nvim_buf_get_lines(buffer, 0, -1, false)
  return table.concat(lines, eol) .. (vim.bo[buffer].endofline and eol or "")
end

-- What Neovim and the disk hold now, by file name.
function drive.snapshot()
  local found = { buffers = {}, modified = {}, diagnostics = {}, disk = {} }
  for _, buffer in ipairs(vim.api.nvim_list_bufs()) do
    local name = vim.fn.fnamemodify(vim.api.nvim_buf_get_name(buffer), ":t")
    if vim.api.nvim_buf_is_loaded(buffer) and name ~= "" then
      found.buffers[name] = as_written(buffer)
      found.modified[name] = vim.bo[buffer].modified
      for _, known in ipairs(vim.diagnostic.get(buffer)) do
        table.insert(found.diagnostics, {
          file = name,
          range = { known.lnum, known.col, known.end_lnum, known.end_col },
          severity = vim.diagnostic.severity[known.severity],
          source = known.source,
          code = known.code,
          message = known.message,
        })
      end
    end
  end
  for name, kind in vim.fs.dir(".", { depth = 3 }) do
    if kind == "file" then
      found.disk[name] = vim.base64.encode(vim.fn.readblob(name))
    end
  end
  return found
end

local function write_record()
  vim.fn.writefile({ vim.json.encode(record) }, run.record)
end

local function main()
  local ended, problem = xpcall(dofile(run.steps), debug.traceback, drive)
  record.problem = not ended and problem or nil
  record.version = tostring(vim.version())
  record.shown = vim.fn.execute("messages")
  write_record()
  vim.cmd("qall!")
end

vim.api.nvim_create_autocmd("VimLeave", { callback = write_record }) -- with what was said last
vim.api.nvim_create_autocmd("VimEnter", { callback = vim.schedule_wrap(coroutine.wrap(main)) })
