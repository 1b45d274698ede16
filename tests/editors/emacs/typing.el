;;; typing.el --- Go on typing while edits arrive -*- lexical-binding: t; -*-

(defvar typing-edits 0 "How many edits have come.")
(defvar typing-words 0 "How many were applied, and a word typed after each.")

(defun typing-around (apply &rest arguments)
  "Change the document just before the first edit, which APPLY with ARGUMENTS makes, and type after each."
  (when (= (cl-incf typing-edits) 1)
    (with-current-buffer "poem.txt"
      (save-excursion (goto-char (point-min)) (insert "zero\n"))))
  (prog1 (apply apply arguments) ; an error if the document is newer than the edit
    (drive-type (format "word%d " (cl-incf typing-words)))))

(iter-defun typing ()
  (let ((poem (drive-open "poem.txt")))
    (drive-keys "M-x eglot RET")
    (drive-await "the server" (with-current-buffer poem (eglot-managed-p)))
    (drive-keys "M->")
    (advice-add 'eglot--apply-workspace-edit :around #'typing-around)
    (handrail "go")
    (drive-await "the report" (drive-said "did not land"))
    (drive-type "end")
    (drive-await "the last word" (string-suffix-p "end" (drive-text poem)))
    (drive-note 'edits typing-edits)
    (drive-snapshot 'after)))

(drive-begin (typing))
