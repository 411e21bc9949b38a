import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { parse, parseAllDocuments } from 'yaml';
import { livez, readyz } from '../../src/contract/service.ts';
import { VERSION } from '../../src/server/package-root.ts';
import { parseConfig } from '../../src/server/platform/config.ts';
import { SETTINGS } from '../../src/server/platform/setting-definitions.ts';

const deploy = join(import.meta.dirname, '../../deploy');
const read = (name: string) => readFileSync(join(deploy, name), 'utf8');
const PROBES: readonly string[] = [livez.path, readyz.path];
const MASTER_KEY = Buffer.alloc(32, 1).toString('base64');

/** Environment variables set by the image; the deployments around it add others. */
const image = Object.fromEntries(
  (/^ENV (.+)$/m.exec(read('Dockerfile'))?.[1] ?? '').split(' ').map((pair) => pair.split('=', 2)),
) as Record<string, string>;

/** Environment variables that are not settings of the service. */
const NO_SETTINGS = ['NODE_ENV'];
function assertSettings(added: Readonly<Record<string, string>>, where: string) {
  const environment = { ...image, ...added };
  for (const name of Object.keys(environment))
    assert.ok(name in SETTINGS || NO_SETTINGS.includes(name), `${where}: ${name} is no setting`);
  return parseConfig(environment);
}
const pathOf = (script: string): string => /127\.0\.0\.1:[^/]+(\/\w+)/.exec(script)?.[1] ?? '';

describe('the image', () => {
  it('declares the ports, health check and volume that the service uses', () => {
    const config = assertSettings({ BASE_URL: 'http://localhost:3000' }, 'Dockerfile');
    const dockerfile = read('Dockerfile');
    assert.equal(config.host, '0.0.0.0');
    assert.equal(config.port, Number(/^EXPOSE (\d+)$/m.exec(dockerfile)?.[1]));
    assert.ok(PROBES.includes(pathOf(/^HEALTHCHECK[\s\S]*?CMD (.+)$/m.exec(dockerfile)?.[1] ?? '')));
    const volume = /^VOLUME (\S+)$/m.exec(dockerfile)?.[1] ?? '';
    for (const path of [config.databaseUrl.replace('sqlite:', ''), config.journalDir ?? ''])
      assert.ok(path.startsWith(`${volume}/`), path);
  });

  it('copies existing files, and starts a program of the package', () => {
    const copied = [...read('Dockerfile').matchAll(/^COPY --from=build \/app\/(.+?) \/app/gm)].flatMap(([, names]) =>
      (names ?? '').split(' ').map((name) => name.replace('/app/', '')),
    );
    assert.ok(copied.length >= 5, copied.join(' '));
    // Excludes artifacts that are built or installed inside the image.
    for (const name of copied.filter((each) => each !== 'dist' && each !== 'node_modules'))
      assert.ok(existsSync(join(deploy, '..', name)), name);
    for (const [, program] of read('Dockerfile').matchAll(/\/app\/(bin\/\w+\.js)/g))
      assert.ok(existsSync(join(deploy, '..', String(program))), String(program));
  });
});

interface ComposeService {
  readonly environment?: Readonly<Record<string, string>>;
  readonly ports?: readonly string[];
  readonly volumes?: readonly string[];
  readonly depends_on?: Readonly<Record<string, unknown>>;
  readonly healthcheck?: { readonly test: readonly string[] };
}
interface Compose {
  readonly services: Readonly<Record<string, ComposeService>>;
  readonly volumes: Readonly<Record<string, unknown>>;
}
interface PrometheusConfig {
  readonly scrape_configs: readonly {
    readonly dns_sd_configs: readonly { readonly names: readonly string[]; readonly port: number }[];
  }[];
}

interface GrafanaFiles {
  readonly datasources?: readonly { readonly type: string; readonly url: string; readonly isDefault: boolean }[];
  readonly providers?: readonly { readonly type: string; readonly options: { readonly path: string } }[];
}
interface Dashboard {
  readonly templating: { readonly list: readonly { name: string; type: string; query: string }[] };
}

describe('the services of compose.yaml', () => {
  const { services, volumes } = parse(read('compose.yaml')) as Compose;
  const own = services['reelgate'] ?? assert.fail('there is no service reelgate');
  /** Substitutes `${NAME}`, `${NAME:-default}` and `${NAME:?}` as Compose does. */
  const filled = (text: string) =>
    text.replace(
      /\$\{(\w+)(?::([-?])([^}]*))?\}/g,
      (_, name: string, kind: string, fallback: string) =>
        ({ MASTER_KEY, POSTGRES_PASSWORD: 'secret' })[name] ?? (kind === '-' ? fallback : assert.fail(name)),
    );
  const environment = Object.fromEntries(
    Object.entries(own.environment ?? {}).map(([name, value]) => [name, filled(value)]),
  );

  it('pass only existing settings to the service, with ports and paths that it serves', () => {
    const config = assertSettings(environment, 'compose.yaml');
    assert.deepEqual(
      own.ports?.map((port) => Number(port.split(':').at(-1))),
      [config.port],
    );
    assert.ok(PROBES.includes(pathOf(own.healthcheck?.test.at(-1) ?? '')));
    const prometheus = parse(read('prometheus.yml')) as PrometheusConfig;
    for (const { names, port } of prometheus.scrape_configs.flatMap((job) => job.dns_sd_configs)) {
      assert.equal(port, config.metricsPort);
      for (const name of names) assert.ok(name in services, name);
    }
  });

  it('reach each other by matching names, accounts and passwords', () => {
    const database = new URL(environment['DATABASE_URL'] ?? '');
    const postgres = services[database.hostname]?.environment ?? {};
    assert.equal(postgres['POSTGRES_USER'], database.username);
    assert.equal(filled(postgres['POSTGRES_PASSWORD'] ?? ''), database.password);
    assert.equal(`/${postgres['POSTGRES_DB']}`, database.pathname);
    assert.ok(new URL(environment['VALKEY_URL'] ?? '').hostname in services);
    for (const name of Object.keys(own.depends_on ?? {})) assert.ok(name in services, name);
  });

  it('mount declared volumes and existing files', () => {
    for (const [name, service] of Object.entries(services))
      for (const mount of service.volumes ?? []) {
        const [source = ''] = mount.split(':');
        assert.ok(source.startsWith('./') ? existsSync(join(deploy, source)) : source in volumes, `${name}: ${source}`);
      }
  });

  it("provide Grafana's data source and dashboard where it expects them", () => {
    const mounts = (services['grafana']?.volumes ?? []).map((mount) => mount.split(':'));
    /** The single file mounted in a Grafana folder. */
    const mounted = (folder: string): string => {
      const [found, ...others] = mounts.filter(([, target]) => target?.startsWith(`${folder}/`));
      assert.deepEqual(others, []);
      return read(found?.[0] ?? assert.fail(`nothing is mounted in ${folder}`));
    };
    const { datasources } = parse(mounted('/etc/grafana/provisioning/datasources')) as GrafanaFiles;
    const { providers } = parse(mounted('/etc/grafana/provisioning/dashboards')) as GrafanaFiles;
    const [source] = datasources ?? [];
    assert.ok(new URL(source?.url ?? '').hostname in services);
    assert.deepEqual([source?.isDefault, new URL(source?.url ?? '').port], [true, '9090']);
    const dashboard = JSON.parse(mounted(providers?.[0]?.options.path ?? '')) as Dashboard;
    const chosen = dashboard.templating.list.find(({ type }) => type === 'datasource');
    assert.deepEqual([chosen?.name, chosen?.query], ['datasource', source?.type]);
  });
});

interface Probe {
  readonly httpGet: { readonly path: string; readonly port: string };
  readonly periodSeconds: number;
  readonly failureThreshold: number;
}
interface Container {
  readonly image: string;
  readonly ports: readonly { readonly name: string; readonly containerPort: number }[];
  readonly envFrom: readonly Readonly<Record<string, { readonly name: string }>>[];
  readonly env: readonly { readonly name: string }[];
  readonly readinessProbe: Probe;
  readonly livenessProbe: Probe;
  readonly startupProbe: Probe;
  readonly volumeMounts: readonly { readonly name: string }[];
}
type Labels = Readonly<Record<string, string>>;
interface Metadata {
  readonly name: string;
  readonly labels: Labels;
  readonly annotations: Labels;
}
/** The fields this test reads from the Kubernetes objects, by kind. */
interface Objects {
  readonly ConfigMap: { readonly metadata: Metadata; readonly data: Labels };
  readonly Secret: { readonly metadata: Metadata; readonly stringData: Labels };
  readonly Deployment: {
    readonly spec: {
      readonly selector: { readonly matchLabels: Labels };
      readonly template: {
        readonly metadata: Metadata;
        readonly spec: {
          readonly terminationGracePeriodSeconds: number;
          readonly containers: readonly [Container];
          readonly volumes: readonly { readonly name: string }[];
        };
      };
    };
  };
  readonly Service: {
    readonly metadata: Metadata;
    readonly spec: { readonly selector: Labels; readonly ports: readonly [{ name: string; targetPort: string }] };
  };
  readonly PodDisruptionBudget: { readonly spec: { readonly selector: { readonly matchLabels: Labels } } };
  readonly Ingress: {
    readonly spec: {
      readonly rules: readonly [
        { host: string; http: { paths: [{ backend: { service: { name: string; port: { name: string } } } }] } },
      ];
    };
  };
}

describe('the objects of kubernetes.yaml', () => {
  const documents = parseAllDocuments(read('kubernetes.yaml'));
  const objects = documents.map((document) => document.toJS() as { readonly kind: string });
  const objectOf = <Kind extends keyof Objects>(kind: Kind): Objects[Kind] =>
    (objects.find((each) => each.kind === kind) as Objects[Kind] | undefined) ?? assert.fail(`there is no ${kind}`);
  const deployment = objectOf('Deployment');
  const { metadata, spec: pod } = deployment.spec.template;
  const [container] = pod.containers;
  const config = () =>
    assertSettings({ ...objectOf('ConfigMap').data, ...objectOf('Secret').stringData, MASTER_KEY }, 'kubernetes.yaml');

  it('are valid YAML', () => {
    for (const { errors } of documents) assert.deepEqual(errors, []);
  });

  it('pass only existing settings to the service, and ports it listens on', () => {
    const { port, metricsPort } = config();
    const ports = Object.fromEntries(container.ports.map((each) => [each.name, each.containerPort]));
    assert.deepEqual(ports, { http: port, metrics: metricsPort });
    assert.equal(Number(metadata.annotations['prometheus.io/port']), metricsPort);
    for (const { name } of container.env) assert.ok(name in SETTINGS, name);
    assert.deepEqual(container.envFrom, [
      { configMapRef: { name: objectOf('ConfigMap').metadata.name } },
      { secretRef: { name: objectOf('Secret').metadata.name } },
    ]);
  });

  it('probe existing paths, restart nothing because of the database, and stop after all deadlines', () => {
    const { readinessProbe, livenessProbe, startupProbe } = container;
    assert.deepEqual(readinessProbe.httpGet, { path: readyz.path, port: 'http' });
    for (const probe of [livenessProbe, startupProbe])
      assert.deepEqual(probe.httpGet, { path: livez.path, port: 'http' });
    const { drainSeconds } = config();
    assert.ok(pod.terminationGracePeriodSeconds >= drainSeconds + 35);
    // A pod still receives requests for this long, so it must keep serving until then.
    assert.ok(readinessProbe.periodSeconds * readinessProbe.failureThreshold < drainSeconds);
  });

  it('refer to each other by matching names', () => {
    const service = objectOf('Service');
    const [port] = service.spec.ports;
    for (const selector of [
      deployment.spec.selector.matchLabels,
      service.spec.selector,
      objectOf('PodDisruptionBudget').spec.selector.matchLabels,
    ])
      assert.deepEqual(selector, metadata.labels);
    assert.ok(container.ports.some(({ name }) => name === port.targetPort));
    const [rule] = objectOf('Ingress').spec.rules;
    const [path] = rule.http.paths;
    assert.deepEqual(path.backend.service, { name: service.metadata.name, port: { name: port.name } });
    assert.equal(rule.host, new URL(config().baseUrl).host);
    for (const mount of container.volumeMounts) assert.ok(pod.volumes.some(({ name }) => name === mount.name));
    assert.equal(container.image, `reelgate:${VERSION}`);
  });
});
