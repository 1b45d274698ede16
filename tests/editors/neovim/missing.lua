-- A command says that the program of the server is missing, and what to do.
return function(drive)
  vim.cmd.edit("poem.txt")
  vim.cmd("Handrail go")
  drive.await_message("was not found", 0)
end
