import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

/** npm oidc-provider with its memory adapter and the device flow enabled. Prints `listening PORT`. */
// A dynamic name, because the package is installed in bench/ only and the type checker must not resolve it.
const { Provider } = (await import('oidc-provider' as string)) as {
  Provider: new (issuer: string, options: object) => { callback(): Parameters<typeof createServer>[1] };
};
const server = createServer();
server.listen(0, '127.0.0.1');
await once(server, 'listening');
const { port } = server.address() as AddressInfo;
const provider = new Provider(`http://127.0.0.1:${port}`, {
  clients: [
    {
      client_id: 'bench',
      client_secret: 'bench-secret-0123456789',
      grant_types: ['urn:ietf:params:oauth:grant-type:device_code', 'refresh_token'],
      response_types: [],
      redirect_uris: [],
      token_endpoint_auth_method: 'client_secret_post',
    },
  ],
  cookies: { keys: ['bench'] },
  features: { deviceFlow: { enabled: true }, devInteractions: { enabled: false } },
});
const handle = provider.callback();
if (handle !== undefined) server.on('request', handle);
process.stdout.write(`listening ${port}\n`);
process.on('SIGTERM', () => process.exit(0));
