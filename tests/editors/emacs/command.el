;;; command.el --- A command changes a file that is open, then the model edits it -*- lexical-binding: t; -*-

(iter-defun command ()
  (let ((poem (drive-open "poem.txt")))
    (push '("approvals" . ((("tool" . "terminal") ("match" . "sed *") ("verdict" . "allow")))) handrail-settings)
    (drive-connect)
    (drive-await "the server" (with-current-buffer poem (drive-managed-p)))
    (handrail-ask "go")
    (drive-await "the report" (drive-said "handrail: finished"))
    (drive-snapshot 'after)
    (with-current-buffer poem (save-buffer))
    (drive-snapshot 'written)))

(drive-begin (command))
