/** The nonce of this response's content security policy; style elements made at run time must carry it. */
export const styleNonce: string = document.querySelector<HTMLMetaElement>('meta[property="csp-nonce"]')?.nonce ?? '';

// Read by the scroll lock under dialogs (get-nonce), which makes a style element of its own.
(globalThis as { __webpack_nonce__?: string }).__webpack_nonce__ = styleNonce;
