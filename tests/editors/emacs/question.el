;;; question.el --- A question waits while keys are pressed, and takes only words typed in full -*- lexical-binding: t; -*-

(defun question-said (text)
  "How often Emacs has said TEXT."
  (with-current-buffer (messages-buffer)
    (save-excursion
      (goto-char (point-min))
      (let ((times 0))
        (while (search-forward text nil t)
          (cl-incf times (if (looking-at " \\[\\([0-9]+\\) times\\]") (string-to-number (match-string 1)) 1)))
        times))))

(defun question-mode-line ()
  "What the mode line says."
  (format-mode-line global-mode-string))

(iter-defun question ()
  (let ((poem (drive-open "poem.txt"))
        (answered 0))
    (drive-connect)
    (drive-await "the server" (with-current-buffer poem (drive-managed-p)))
    (handrail-ask "go")
    (drive-await "the question" (string-search "is waiting for you (1)" (question-mode-line)))
    (drive-keys "RET 1 2 y RET C-g")
    (drive-await "C-g" (> (question-said "Quit") 0))
    (drive-keys "M-< z z")
    (drive-await "the keys" (string-prefix-p "zz" (drive-text poem)))
    (drive-note 'waits (question-mode-line))

    (dolist (keys '("RET" "1 RET" "2 RET" "y RET" "a l l o w RET" "y e s SPC RET"))
      (drive-keys "M-x handrail-answer RET")
      (drive-keys keys)
      (cl-incf answered)
      (drive-await keys (= (question-said "the question stays open") answered)))
    (drive-keys "M-x handrail-answer RET C-g")
    (drive-await "the second C-g" (and (> (question-said "Quit") 1) (zerop (minibuffer-depth))))
    (drive-note 'unanswered (if (and (not (file-exists-p "ran.txt"))
                                     (string-search "is waiting for you (1)" (question-mode-line)))
                                t :json-false))
    (drive-note 'shown-text (drive-text (get-buffer "*handrail question*")))

    (drive-keys "M-x handrail-answer RET y e s RET")
    (drive-await "the command to run" (file-exists-p "ran.txt"))
    (drive-await "the report" (drive-said "handrail: finished; commands changed 1 file"))
    (drive-note 'gone (if (and (not (string-search "waits" (question-mode-line)))
                               (null (get-buffer "*handrail question*")))
                          t :json-false))

    (delete-file "ran.txt")
    (handrail-ask "go")
    (drive-await "the question" (string-search "is waiting for you (1)" (question-mode-line)))
    (drive-keys "M-x handrail-stop RET")
    (drive-await "the turn's end" (drive-said "handrail: stopped"))
    (drive-await "the question's end" (not (string-search "is waiting for you" (question-mode-line))))
    (drive-note 'stopped (if (file-exists-p "ran.txt") :json-false t))))

(drive-begin (question))
