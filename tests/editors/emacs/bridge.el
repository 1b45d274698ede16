;;; bridge.el --- What handrail.el answers about other servers, without a server of ours -*- lexical-binding: t; -*-

;; Run in batch mode.  $HANDRAIL_BRIDGE names a JSON file with the questions; the answers are printed.  If it is to be
;; late, handrail.el is loaded only when the other server has reported.

(require 'cl-lib)
(require 'eglot)

(defvar bridge-plan
  (with-temp-buffer
    (insert-file-contents (getenv "HANDRAIL_BRIDGE"))
    (json-parse-buffer :object-type 'plist :null-object nil)))

(defun bridge-wait (later)
  "The answer LATER, once it is there."
  (if (handrail--later-p later)
      (progn (while (null (handrail--later-answer later)) (accept-process-output nil 0.01))
             (car (handrail--later-answer later)))
    later))

(defun bridge-know (uri)
  "Visit the file URI, and note that a server of ours knows it."
  (with-current-buffer (find-file-noselect (handrail--path uri))
    (setq handrail--doc (handrail--make-doc :server 'ours :uri uri
                                            :tick (buffer-chars-modified-tick)))
    (current-buffer)))

(defun bridge-ask (question)
  "What is answered to QUESTION: its method and its params."
  (bridge-wait (handrail--handle 'ours (intern (plist-get question :method)) (plist-get question :params))))

(add-to-list 'eglot-server-programs `(python-mode . ,(append (plist-get bridge-plan :server) nil)))
(if (eq (plist-get bridge-plan :late) t)
    (with-current-buffer (find-file-noselect (plist-get bridge-plan :file))
      (call-interactively #'eglot)
      (while (null (flymake-diagnostics))
        (accept-process-output nil 0.01)
        (flymake-start)) ; else it waits for the buffer to be shown
      (load (plist-get bridge-plan :client)))
  (load (plist-get bridge-plan :client))
  (with-current-buffer (find-file-noselect (plist-get bridge-plan :file)) (call-interactively #'eglot)))
(with-current-buffer (bridge-know (plist-get bridge-plan :uri))
  (princ (json-serialize (vconcat (mapcar #'bridge-ask (plist-get bridge-plan :questions)))
                         :null-object nil :false-object :json-false)))

;;; bridge.el ends here
