;;; elsewhere.el --- Edits of documents whose files were changed elsewhere, or are edited there -*- lexical-binding: t; -*-

(iter-defun elsewhere ()
  (let ((poem (drive-open "poem.txt")) (song (drive-open "song.txt")))
    (drive-connect)
    (drive-await "the server" (with-current-buffer song (drive-managed-p)))
    ;; Another program has written the one.
    (with-temp-file (drive-file "poem.txt") (insert "zero\none\ntwo\n"))
    ;; Another Emacs edits the other.
    (make-symbolic-link (drive-value 'owner) (drive-file ".#song.txt"))
    (handrail-ask "go")
    (drive-await "the report" (drive-said "handrail: finished"))
    (drive-note 'prompts (drive-flag (active-minibuffer-window)))
    (drive-snapshot 'after)))

(drive-begin (elsewhere))
