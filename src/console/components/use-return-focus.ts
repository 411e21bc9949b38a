import { useEffect, useRef } from 'react';

/**
 * For a dialog that is mounted open: gives the focus back to what had it before when the dialog is taken away. Otherwise someone
 * who works with the keyboard would begin at the top of the page again.
 */
export function useReturnFocus(): void {
  const before = useRef(document.activeElement);
  useEffect(() => {
    const element = before.current;
    return () => {
      // Once the dialog is gone: until then it keeps the focus inside.
      setTimeout(() => {
        if (element instanceof HTMLElement && document.activeElement === document.body) element.focus();
      });
    };
  }, []);
}
