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
    (with-current-buffer poem
      (goto-char 3)
      (command-start))
    (drive-await "the edit" (string-search "THREE" (drive-text poem)))
    (drive-snapshot 'after)
    (with-current-buffer poem (save-buffer))
    (drive-snapshot 'written)
    (drive-note 'place (with-current-buffer poem (point)))
    (when (eq (drive-client) 'handrail)
      (switch-to-buffer poem)
      (drive-keys "C-x u")
      (drive-await "the edit undone" (not (string-search "THREE" (drive-text poem))))
      (drive-keys "C-x u")
      (drive-await "what the command wrote undone" (string-search "two" (drive-text poem)))
      (drive-note 'undone (drive-text poem)))))

(drive-begin (command))
