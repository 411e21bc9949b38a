import { makeApp } from '../../src/server/app.ts';
import { loadConfig } from '../../src/server/platform/config.ts';
import { CHEAP_PASSWORD_HASHING } from '../cheap-password-hashing.ts';
import { UNLIMITED_DEVICE_CODES } from '../device-auth/device-auth-fixture.ts';

/**
 * The service in its own process, to be killed: settings come from the environment, and the first line of output is the
 * port.
 */
const app = await makeApp(loadConfig(process.env, '').config, {
  passwordCost: CHEAP_PASSWORD_HASHING,
  deviceCodeLimits: UNLIMITED_DEVICE_CODES,
});
const { port } = await app.listen();
process.stdout.write(`${port}\n`);
