import { useEffect, useState } from 'react';

/** Where the focus was before each open dialog, and before the dialogs it replaced; the one opened last is at the end. */
const openDialogs: (readonly (Element | null)[])[] = [];

/**
 * For a dialog that is mounted open: gives the focus back to what had it before when the dialog is taken away. Otherwise someone
 * who works with the keyboard would begin at the top of the page again. A dialog that takes the place of another one, as the one
 * that shows a new secret does, gives it back to what opened the first.
 */
export function useReturnFocus(): void {
  const [before] = useState(() => [document.activeElement, ...(openDialogs.at(-1) ?? [])]);
  useEffect(() => {
    openDialogs.push(before);
    return () => {
      openDialogs.splice(openDialogs.indexOf(before), 1);
      // Once the dialog is gone: until then it keeps the focus inside.
      setTimeout(() => {
        if (document.activeElement !== document.body) return;
        const element = before.find((each) => each?.isConnected === true && each !== document.body);
        if (element instanceof HTMLElement) element.focus();
      });
    };
  }, [before]);
}
