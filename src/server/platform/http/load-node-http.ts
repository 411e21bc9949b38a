/**
 * An `import` of the module reads every name it exports, and with `WebSocket` loads a whole second HTTP client: 4 MB that
 * nothing here calls. Asked for in this way it is what it was.
 */
export const { createServer, IncomingMessage, ServerResponse } = process.getBuiltinModule('node:http');
