/** A form in which something was entered, as long as it is shown. */
let edited: HTMLFormElement | null | undefined;

addEventListener('input', ({ target }) => {
  if (!edited?.isConnected) edited = (target as HTMLInputElement).form;
});

/** The sign-in that covers the page. Requests that found the session ended wait for it. */
export let signIn: Promise<true> | undefined;

/**
 * Lets the person sign in over a page with input, which a sign-in page in its place would lose.
 *
 * @returns undefined if nothing was entered; otherwise settles after the sign-in, when requests can be sent again
 */
export function renewSession(): typeof signIn {
  if (edited?.isConnected)
    signIn ??= import('../pages/sign-in/sign-in-again.tsx')
      .then(({ signInAgain }) => signInAgain())
      .finally(() => {
        signIn = undefined;
      });
  return signIn;
}
