import type { ModelLifecycle } from './adapter.ts';

/** When each vendor's page of models was read last; a test asks for a newer reading after half a year. */
const CHECKED = '2026-11-20';

/** Where a vendor says which models it serves, and on which host. What is not in `ENDS` is active there. */
const SOURCES: Readonly<Record<string, { readonly route: string; readonly source: string }>> = {
  kling: { route: 'api-singapore.klingai.com', source: 'https://app.klingai.com/global/dev/document-api' },
  jimeng: { route: 'visual.volcengineapi.com', source: 'https://www.volcengine.com/docs/85621' },
  hailuo: { route: 'api.minimax.io', source: 'https://platform.minimax.io/docs/api-reference/video-generation-intro' },
  seedance: { route: 'ark.cn-beijing.volces.com', source: 'https://www.volcengine.com/docs/82379/1330310' },
  wan: { route: 'dashscope.aliyuncs.com', source: 'https://help.aliyun.com/zh/model-studio/models' },
  veo: {
    route: 'aiplatform.googleapis.com',
    source: 'https://docs.cloud.google.com/vertex-ai/generative-ai/docs/models',
  },
  vidu: { route: 'api.vidu.com', source: 'https://platform.vidu.com/docs' },
  sora: { route: 'api.openai.com', source: 'https://github.com/openai/openai-openapi' },
  runway: { route: 'api.dev.runwayml.com', source: 'https://docs.dev.runwayml.com/guides/models' },
};

const onGemini = (id: string, retiresOn: string) =>
  ({
    id,
    route: 'generativelanguage.googleapis.com',
    retiresOn,
    successor: 'gemini-omni-1.1-flash',
    source: 'https://ai.google.dev/gemini-api/docs/deprecations',
  }) as const;
const onOpenAi = (id: string) =>
  ({
    id,
    route: 'api.openai.com',
    retiresOn: '2026-09-24',
    source: 'https://github.com/openai/openai-openapi',
  }) as const;

/** Ends the vendors have announced, by route: another host may serve the same name on. */
const ENDS: readonly {
  readonly id: string;
  readonly route: string;
  readonly retiresOn: string;
  readonly successor?: string;
  readonly source: string;
}[] = [
  onGemini('veo-2.0-generate-001', '2026-06-30'),
  onGemini('veo-3.0-generate-001', '2026-06-30'),
  onGemini('veo-3.0-fast-generate-001', '2026-06-30'),
  onGemini('veo-3.1-generate-preview', '2026-10-22'),
  onGemini('veo-3.1-fast-generate-preview', '2026-10-22'),
  onGemini('veo-3.1-lite-generate-preview', '2026-10-22'),
  onOpenAi('sora-2'),
  onOpenAi('sora-2-pro'),
];

/** What is known of a model of a vendor: the ends that were announced, else that it is active. `stage` is that of the reading. */
export function lifecyclesOf(vendor: string, id: string): readonly ModelLifecycle[] {
  const ends = ENDS.filter((end) => end.id === id).map(({ id: _, ...end }) => ({
    ...end,
    stage: end.retiresOn <= CHECKED ? ('retired' as const) : ('deprecated' as const),
    checkedOn: CHECKED,
  }));
  const [known] = Object.entries(SOURCES).filter(([name]) => name === vendor);
  if (ends.length > 0 || known === undefined) return ends;
  return [{ ...known[1], stage: 'active', checkedOn: CHECKED }];
}
