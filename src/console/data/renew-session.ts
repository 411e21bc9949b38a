/** Attribute of a form in which something was entered; one that is no longer shown does not count. */
const EDITED = 'data-edited';

addEventListener('input', ({ target }) => (target as HTMLInputElement).form?.setAttribute(EDITED, ''));

/** The sign-in that covers the page. Requests that found the session ended wait for it. */
export let signIn: Promise<true> | undefined;

// Shortcuts would act on the page behind the sign-in, and Escape close a dialog there; the focus trap needs Tab. Added
// before the listeners of any component.
addEventListener('keydown', (event) => signIn && event.key !== 'Tab' && event.stopImmediatePropagation(), true);

/**
 * Lets the person sign in over a page with input, which a sign-in page in its place would lose.
 *
 * @returns undefined if nothing was entered; otherwise settles after the sign-in, when requests can be sent again
 */
export function renewSession(): typeof signIn {
  if (document.querySelector(`[${EDITED}]`) !== null)
    signIn ??= import('../pages/sign-in/sign-in-again.tsx')
      .then(({ signInAgain }) => signInAgain())
      .finally(() => {
        signIn = undefined;
      });
  return signIn;
}
