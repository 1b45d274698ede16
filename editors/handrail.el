;;; handrail.el --- handrail in Emacs, through eglot -*- lexical-binding: t; -*-

;; Copy this into your init file.  M-x eglot then starts handrail in a project.

(require 'eglot)

;; One server serves all these modes; what is open in another mode it takes for closed.
(add-to-list 'eglot-server-programs
             '((python-mode c-mode c++-mode java-mode js-mode css-mode html-mode sh-mode ruby-mode
                            emacs-lisp-mode conf-unix-mode text-mode fundamental-mode)
               "handrail" "serve"))

;; Do not ask before each edit: `undo' and M-x handrail-restore take them back.
(setq eglot-confirm-server-initiated-edits nil)

(defun handrail (prompt)
  "Ask PROMPT, or apply the edits of a reply copied from a chat."
  (interactive (list (read-string "Ask (empty: apply the copied reply): ")))
  (let ((server (handrail--server)))
    (handrail--request server :handrail/turn/start
                       (list :prompt (if (string-empty-p prompt) (current-kill 0) prompt))
                       (lambda (turn)
                         (handrail--request server :handrail/turn/wait
                                            (list :turn (plist-get turn :turn))
                                            #'handrail--show)))))

(defun handrail-restore (checkpoint)
  "Restore the documents of CHECKPOINT, a checkpoint's id."
  (interactive
   (let* ((known (jsonrpc-request (handrail--server) :handrail/checkpoint/list
                                  (make-hash-table)))
          (labels (mapcar (lambda (each)
                            (cons (format "%s  %s" (plist-get each :time) (plist-get each :label))
                                  (plist-get each :id)))
                          known)))
     (list (cdr (assoc (completing-read "Restore: " labels nil t) labels)))))
  (handrail--request (handrail--server) :handrail/checkpoint/restore
                     (list :checkpoint checkpoint)
                     (lambda (report)
                       (message "handrail: %d documents restored"
                                (+ (length (plist-get report :restored))
                                   (length (plist-get report :deleted)))))))

(defun handrail--server ()
  "The server of this buffer."
  (or (eglot-current-server) (user-error "Start handrail with M-x eglot")))

(defun handrail--request (server method params answered)
  "Send SERVER the request METHOD with PARAMS; ANSWERED gets the result, however late."
  (jsonrpc-async-request
   server method params
   :timeout nil
   :success-fn answered
   :error-fn (lambda (problem) (message "handrail: %s" (plist-get problem :message)))))

(defun handrail--show (report)
  "Say what came of a turn, given its REPORT."
  (let ((answer (plist-get report :answer))
        (outcomes (plist-get report :outcomes)))
    (cl-flet ((counted (status)
                (cl-count status outcomes
                          :key (lambda (outcome) (plist-get outcome :status)) :test #'equal)))
      (message "%s\nhandrail: %d edits, %d did not land%s"
               (if (string-empty-p answer) (plist-get report :reason) answer)
               (length outcomes)
               (counted "failed")
               (if (zerop (counted "denied")) "" (format ", %d denied" (counted "denied")))))))
