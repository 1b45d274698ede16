;;; typing.el --- Go on typing while edits arrive -*- lexical-binding: t; -*-

(defvar typing-edits 0 "How many edits have come.")
(defvar typing-words 0 "How many were applied, and a word typed after each.")

(defun typing-around (apply &rest arguments)
  "Change the document just before the first edit, which APPLY with ARGUMENTS makes, and type after each."
  (when (= (cl-incf typing-edits) 1)
    (with-current-buffer "poem.txt"
      (save-excursion (goto-char (point-min)) (insert "zero\n"))))
  (let ((answer (apply apply arguments))) ; a refusal if the document is newer than the edit
    (when (eq (plist-get answer :applied) t)
      (drive-type (format "word%d " (cl-incf typing-words))))
    answer))

(iter-defun typing ()
  (let ((poem (drive-open "poem.txt")))
    (drive-connect)
    (drive-await "the server" (with-current-buffer poem (drive-managed-p)))
    (drive-keys "M->")
    (advice-add 'handrail--apply :around #'typing-around)
    (handrail-ask "go")
    (drive-await "the report" (drive-said "handrail: finished"))
    (drive-type "end")
    (drive-await "the last word" (string-suffix-p "end" (drive-text poem)))
    (drive-note 'edits typing-edits)
    (drive-snapshot 'after)))

(drive-begin (typing))
