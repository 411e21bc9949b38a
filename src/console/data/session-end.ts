/** Shows the sign-in over the page, with what to call after it; undefined: no longer. */
type Cover = (onSignedIn: (() => void) | undefined) => void;

let cover: Cover | undefined;
/** Requests that found the session ended wait for this. */
let signIn: Promise<true> | undefined;
/** A form in which something was entered, as long as it is shown. */
let edited: HTMLFormElement | null | undefined;

addEventListener('input', ({ target }) => {
  if (!edited?.isConnected) edited = (target as HTMLInputElement).form;
});

/** Registers the component that shows the sign-in. */
export const setCover = (show: Cover): void => {
  cover = show;
};

/** Whether the sign-in covers the page. */
export const isCovered = (): boolean => signIn !== undefined;

/**
 * Lets the person sign in over a page with input, which a sign-in page in its place would lose.
 *
 * @returns undefined if nothing was entered; otherwise settles after the sign-in, when requests can be sent again
 */
export function signInOverPage(): Promise<true> | undefined {
  if (edited?.isConnected)
    signIn ??= new Promise((resolve) => {
      cover?.(() => {
        signIn = undefined;
        cover?.(undefined);
        resolve(true);
      });
    });
  return signIn;
}
