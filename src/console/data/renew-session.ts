// Marks a form in which something was entered; one that is no longer shown does not count.
addEventListener('input', ({ target }) => {
  const { form } = target as HTMLInputElement;
  if (form) form.dataset.edited = '';
});

const signInAgain = async (): Promise<true> => (await import('../pages/sign-in/sign-in-again.tsx')).signInAgain();

/** The sign-in that covers the page. Requests that found the session ended wait for it. */
export let signIn: Promise<true> | undefined;

/**
 * Lets the person sign in over a page with input, which a sign-in page in its place would lose.
 *
 * @returns undefined if nothing was entered; otherwise settles after the sign-in, when requests can be sent again
 */
export function renewSession(): typeof signIn {
  if (document.querySelector('[data-edited]'))
    signIn ??= signInAgain().finally(() => {
      signIn = undefined;
    });
  return signIn;
}
