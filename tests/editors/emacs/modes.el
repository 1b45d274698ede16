;;; modes.el --- Files in many modes, unsaved, while turns edit them -*- lexical-binding: t; -*-

(defun modes-reports ()
  "How many turns have ended."
  (with-current-buffer (messages-buffer)
    (save-excursion (goto-char (point-min)) (how-many "handrail: finished"))))

(defun modes-apply (reply)
  "Apply REPLY as one that was copied from a chat."
  (kill-new reply)
  (handrail-apply-copied))

(iter-defun modes ()
  (let ((files (append (drive-value 'files) nil))
        (replies (append (drive-value 'replies) nil))
        buffers)
    ;; Half of them are open before the server is there.
    (dotimes (_ (/ (length files) 2)) (push (drive-open (pop files)) buffers))
    (drive-connect)
    (drive-await "the server" (with-current-buffer (car buffers) (drive-managed-p)))
    (dolist (file files) (push (drive-open file) buffers))
    (dolist (buffer buffers)
      (switch-to-buffer buffer)
      (drive-keys "M-<")
      (drive-type "zz ")
      (drive-await (format "%s to be typed into" buffer) (string-prefix-p "zz one" (drive-text buffer))))
    (drive-note 'modes (mapcar (lambda (buffer) (cons (buffer-name buffer) (buffer-local-value 'major-mode buffer)))
                               buffers))
    (modes-apply (pop replies))
    (drive-await "the first report" (= (modes-reports) 1))
    (drive-snapshot 'first)

    ;; A mode that is chosen by hand, in the list and not in it, and typing on.
    (dolist (mode (list #'rst-mode #'fundamental-mode #'python-mode #'outline-mode))
      (dolist (buffer (seq-take buffers 3))
        (switch-to-buffer buffer)
        (funcall mode)))
    (dolist (buffer buffers)
      (switch-to-buffer buffer)
      (drive-keys "M-<")
      (drive-type "yy ")
      (drive-await (format "%s to be typed into" buffer) (string-prefix-p "yy zz one" (drive-text buffer))))
    (modes-apply (pop replies))
    (drive-await "the second report" (= (modes-reports) 2))
    (drive-snapshot 'second)

    (dolist (buffer buffers)
      (with-current-buffer buffer
        (save-buffer)
        (revert-buffer t t)))
    (modes-apply (pop replies))
    (drive-await "the third report" (= (modes-reports) 3))
    (drive-snapshot 'third)))

(drive-begin (modes))
