import Type from 'typebox';
import { endpoint } from './endpoint.ts';

const open = { method: 'GET', tag: 'service', policy: 'public' } as const;

export const getStatus = endpoint({
  ...open,
  path: '/api/status',
  summary: 'Version and settings a client may need before it signs in',
  envelope: 'api',
  answer: Type.Object({
    success: Type.Literal(true),
    message: Type.String(),
    data: Type.Object({
      version: Type.String(),
      ready: Type.Boolean(),
      sandbox: Type.Boolean(),
      registration: Type.String(),
      quota_per_unit: Type.Integer(),
      api_user_header: Type.String(),
      server_address: Type.String(),
    }),
  }),
});
export const livez = endpoint({ ...open, path: '/livez', summary: 'Whether the process lives', envelope: 'api' });
export const readyz = endpoint({ ...open, path: '/readyz', summary: 'Whether it can serve requests', envelope: 'api' });
export const metricsPage = endpoint({
  ...open,
  policy: 'self',
  path: '/metrics',
  summary: 'Figures for Prometheus, to holders of METRICS_TOKEN',
  envelope: 'api',
});
