/**
 * Keeps the keyboard's place when a focused button is disabled while its action runs: browsers then move the focus to
 * the body. Afterwards the button has it again, or its form if there is nothing left to submit.
 *
 * @returns stops it
 */
export function keepFocus(): () => void {
  let lost: HTMLButtonElement | undefined;
  const observer = new MutationObserver((changes) => {
    for (const { target } of changes) {
      if (!(target instanceof HTMLButtonElement)) continue;
      // Runs before the browser moves the focus.
      if (target.disabled && target === document.activeElement) lost = target;
      else if (target === lost && !('loading' in target.dataset)) {
        lost = undefined;
        if (document.activeElement === document.body) focusAgain(target);
      }
    }
  });
  observer.observe(document.body, { subtree: true, attributeFilter: ['disabled', 'data-loading'] });
  return () => observer.disconnect();
}

function focusAgain(button: HTMLButtonElement): void {
  const place = button.disabled ? button.closest('form') : button;
  if (place instanceof HTMLFormElement) place.tabIndex = -1;
  place?.focus({ preventScroll: true });
}
