-- The server is killed four times, and then asked for.
return function(drive)
  drive.open("poem.txt")
  for _ = 1, 3 do
    local known = #drive.record.messages
    drive.kill_servers()
    drive.await_message("the server was restarted", known)
  end
  drive.kill_servers()
  drive.await_message("keeps ending", 0)
  drive.command("Handrail go", "Done.")
end
