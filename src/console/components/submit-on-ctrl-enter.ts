import type { FormEvent, KeyboardEvent } from 'react';

/** Handlers of a form with a long text, where Enter starts a line: Ctrl + Enter (Command + Enter) submits it too. */
export const submitOnCtrlEnter = (isReady: boolean, submit: () => void) => ({
  onSubmit: (event: FormEvent) => {
    event.preventDefault();
    if (isReady) submit();
  },
  onKeyDown: (event: KeyboardEvent) => {
    if (event.key === 'Enter' && (event.ctrlKey || event.metaKey) && isReady) submit();
  },
});
