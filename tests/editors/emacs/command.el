;;; command.el --- A command changes a file that is open, then the model edits it -*- lexical-binding: t; -*-

(defun command-start ()
  "Start a turn."
  (pcase (drive-client)
    ('handrail (handrail-ask "go"))
    ('eglot (eglot-execute-command (drive-server) 'handrail.turn.start [(:prompt "go")]))
    ('lsp-mode (with-lsp-workspace (drive-server)
                 (lsp-request "workspace/executeCommand"
                              (list :command "handrail.turn.start" :arguments (vector (ht ("prompt" "go")))))))))

(iter-defun command ()
  (let ((poem (drive-open "poem.txt")))
    (drive-connect)
    (drive-await "the server" (with-current-buffer poem (drive-managed-p)))
    (with-current-buffer poem (command-start))
    (drive-await "the edit" (string-search "THREE" (drive-text poem)))
    (drive-snapshot 'after)
    (with-current-buffer poem (save-buffer))
    (drive-snapshot 'written)))

(drive-begin (command))
