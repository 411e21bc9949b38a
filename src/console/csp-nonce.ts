/** Nonce of this response's content security policy; style elements created at run time must carry it. */
export const cspNonce: string = document.querySelector<HTMLMetaElement>('meta[property="csp-nonce"]')?.nonce ?? '';

// Read by the scroll lock under dialogs (get-nonce), which creates its own style element.
(globalThis as { __webpack_nonce__?: string }).__webpack_nonce__ = cspNonce;
