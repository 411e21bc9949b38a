import { Alert, Badge, Button, Checkbox, Code, Group, Stack, Text, TextInput } from '@mantine/core';
import { IconAlertTriangle, IconCheck, IconPlugConnected, IconPlus } from '@tabler/icons-react';
import { useMutation } from '@tanstack/react-query';
import { useEffect, useRef, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { addChannelModels, testChannel } from '../../../../contract/channels.ts';
import { ErrorAlert } from '../../../components/error-alert.tsx';
import { RouteButton } from '../../../components/route-link.tsx';
import { type ResponseData, useInvalidateQueries } from '../../../data/admin.ts';
import { callApi } from '../../../data/api-client.ts';
import { formatColon, formatNames } from '../../../data/format-values.ts';
import { ModelPrice } from '../models/model-price.tsx';
import { toErrorReason } from './channel-status.tsx';

interface ConnectionTestProps {
  readonly id: number;
  readonly isVideo: boolean;
  /** Starts a test on mount, as after adding a channel. */
  readonly runOnMount: boolean;
}

/** Tests the credentials against the upstream, and explains the remedy for a failure. */
export function ChannelTestPanel({ id, isVideo, runOnMount }: ConnectionTestProps) {
  const { t } = useTranslation('admin-channels');
  const invalidate = useInvalidateQueries();
  const test = useMutation({
    mutationFn: async () => (await callApi(testChannel, { params: { id: String(id) }, query: {} })).data,
    onSuccess: invalidate,
  });
  const { mutate } = test;
  const begun = useRef(false);
  useEffect(() => {
    if (!runOnMount || begun.current) return;
    begun.current = true;
    mutate();
  }, [runOnMount, mutate]);
  const result = test.data;
  return (
    <>
      <Group>
        <Button
          variant="default"
          leftSection={<IconPlugConnected size={16} />}
          loading={test.isPending}
          onClick={() => test.mutate()}
        >
          {t('test.action')}
        </Button>
        {result === undefined && !test.isPending ? (
          <Text size="sm" c="dimmed">
            {t('test.hint')}
          </Text>
        ) : null}
      </Group>
      <div role="status" style={{ marginTop: 12 }}>
        <ErrorAlert error={test.error} />
        {result?.ok === true ? <TestPassed result={result} isVideo={isVideo} /> : null}
        {result?.ok === false ? (
          <Alert color="red" icon={<IconAlertTriangle />} title={t(`reasons.${toErrorReason(result.reason)}`)}>
            <Text size="sm">{t(`advice.${toErrorReason(result.reason)}`)}</Text>
            <Text size="sm" mt="xs" style={{ overflowWrap: 'anywhere' }}>
              {t('test.said')}{' '}
              <Code>{[result.code, result.message].filter((each) => each !== '').join(formatColon())}</Code>
            </Text>
          </Alert>
        ) : null}
      </div>
      {result?.ok === true && result.suggested_models.length > 0 ? (
        <SuggestedModels key={test.submittedAt} channelId={id} models={result.suggested_models} />
      ) : null}
    </>
  );
}

interface TestPassedProps {
  readonly result: ResponseData<typeof testChannel>;
  readonly isVideo: boolean;
}

function TestPassed({ result, isVideo }: TestPassedProps) {
  const { t } = useTranslation('admin-channels');
  const { models, missing_models: missing, ending_models: ending, suggested_models: suggested } = result;
  return (
    <Alert color="teal" icon={<IconCheck />} title={t('test.works', { ms: result.duration_ms })}>
      {models.length > 0 && suggested.length === 0 ? (
        <Text size="sm" lineClamp={3}>
          {t('test.lists', { models: formatNames(models) })}
        </Text>
      ) : null}
      {missing.length > 0 ? (
        <Text size="sm" mt="xs">
          {t('test.missing', { models: formatNames(missing) })}
        </Text>
      ) : null}
      {ending.map(({ model, retires_on: day, successor, confirmed }) => (
        <Text size="sm" mt="xs" key={model}>
          {t(confirmed ? 'test.ends' : 'test.mayEnd', { model, day })}
          {successor === null ? null : ` ${t('test.successor', { successor })}`}
        </Text>
      ))}
      {isVideo || suggested.length === 0 ? (
        <Group gap="xs" mt="xs">
          {isVideo ? (
            <RouteButton to="/studio" size="compact-sm">
              {t('test.makeVideo')}
            </RouteButton>
          ) : null}
          <RouteButton to="/admin/models" size="compact-sm" variant="default">
            {t('test.checkPrices')}
          </RouteButton>
        </Group>
      ) : null}
    </Alert>
  );
}

type SuggestedModel = ResponseData<typeof testChannel>['suggested_models'][number];

/** Lists up to this length are fully preselected; in longer ones the administrator chooses. */
const MAX_PRESELECTED = 10;

interface SuggestedModelsProps {
  readonly channelId: number;
  /** Models the upstream lists and the channel does not serve. */
  readonly models: readonly SuggestedModel[];
}

/** The step after a test: selects which of the upstream's models users can call, each with a price. */
function SuggestedModels({ channelId, models }: SuggestedModelsProps) {
  const { t } = useTranslation('admin-channels');
  const invalidate = useInvalidateQueries();
  const [part, setPart] = useState('');
  const [selected, setSelected] = useState<ReadonlySet<string>>(
    () => new Set(models.length > MAX_PRESELECTED ? [] : models.map(({ id }) => id)),
  );
  const [added, setAdded] = useState<readonly string[]>([]);
  const add = useMutation({
    mutationFn: async (ids: readonly string[]) => {
      await callApi(addChannelModels, { params: { id: String(channelId) }, body: { ids: [...ids] } });
      await invalidate();
      setAdded([...added, ...ids]);
      setSelected(new Set());
    },
  });
  const left = models.filter(({ id }) => !added.includes(id));
  const shown = left.filter(({ id }) => id.toLowerCase().includes(part.trim().toLowerCase()));
  const chosen = left.filter(({ id }) => selected.has(id)).map(({ id }) => id);
  return (
    <Stack gap="sm" mt="lg">
      {added.length === 0 ? null : <ModelsAdded count={added.length} />}
      {left.length === 0 ? null : (
        <>
          <div>
            <Text fw={600} component="h3" size="md">
              {t('suggest.title')}
            </Text>
            <Text size="sm" c="dimmed">
              {t('suggest.hint')}
            </Text>
          </div>
          {left.length > MAX_PRESELECTED ? (
            <TextInput
              aria-label={t('suggest.search')}
              placeholder={t('suggest.search')}
              value={part}
              onChange={(event) => setPart(event.currentTarget.value)}
            />
          ) : null}
          <ModelChecklist models={shown} selected={selected} onChange={setSelected} />
          <ErrorAlert error={add.error} />
          <Group>
            <Button
              leftSection={<IconPlus size={16} />}
              disabled={chosen.length === 0}
              loading={add.isPending}
              onClick={() => add.mutate(chosen)}
            >
              {t('suggest.add', { count: chosen.length })}
            </Button>
          </Group>
        </>
      )}
    </Stack>
  );
}

/** Receives the focus, because the previously focused button is disabled by then and the list below is long. */
function ModelsAdded({ count }: { readonly count: number }) {
  const { t } = useTranslation('admin-channels');
  const result = useRef<HTMLDivElement>(null);
  useEffect(() => {
    if (count > 0) result.current?.focus();
  }, [count]);
  return (
    <Alert ref={result} tabIndex={-1} color="teal" icon={<IconCheck />} title={t('suggest.added', { count })}>
      <Text size="sm">{t('suggest.usable')}</Text>
      <Group gap="xs" mt="xs">
        <RouteButton to="/playground" size="compact-sm">
          {t('suggest.try')}
        </RouteButton>
        <RouteButton to="/admin/models" size="compact-sm" variant="default">
          {t('test.checkPrices')}
        </RouteButton>
      </Group>
    </Alert>
  );
}

interface ModelChecklistProps {
  readonly models: readonly SuggestedModel[];
  readonly selected: ReadonlySet<string>;
  readonly onChange: (selected: ReadonlySet<string>) => void;
}

function ModelChecklist({ models, selected, onChange }: ModelChecklistProps) {
  const { t } = useTranslation('admin-channels');
  const chosen = models.filter(({ id }) => selected.has(id)).length;
  const select = (changed: readonly SuggestedModel[], isSelected: boolean): void => {
    const next = new Set(selected);
    for (const { id } of changed) {
      if (isSelected) next.add(id);
      else next.delete(id);
    }
    onChange(next);
  };
  return (
    <>
      <Checkbox
        label={t('suggest.all', { count: models.length })}
        checked={models.length > 0 && chosen === models.length}
        indeterminate={chosen > 0 && chosen < models.length}
        disabled={models.length === 0}
        onChange={(event) => select(models, event.currentTarget.checked)}
      />
      <Stack gap="xs" mah={320} style={{ overflowY: 'auto' }} role="group" aria-label={t('suggest.title')}>
        {models.map((model) => (
          <SuggestedModelRow
            key={model.id}
            model={model}
            isSelected={selected.has(model.id)}
            onChange={(isSelected) => select([model], isSelected)}
          />
        ))}
      </Stack>
    </>
  );
}

interface SuggestedModelRowProps {
  readonly model: SuggestedModel;
  readonly isSelected: boolean;
  readonly onChange: (isSelected: boolean) => void;
}

function SuggestedModelRow({ model, isSelected, onChange }: SuggestedModelRowProps) {
  const { t } = useTranslation('admin-channels');
  return (
    <Checkbox
      checked={isSelected}
      onChange={(event) => onChange(event.currentTarget.checked)}
      styles={{ body: { alignItems: 'flex-start' }, labelWrapper: { minWidth: 0, flex: 1 } }}
      label={
        <>
          <Group gap={6} component="span">
            <Text span size="sm" fw={600} style={{ overflowWrap: 'anywhere' }}>
              {model.id}
            </Text>
            {model.kind === 'chat' ? null : (
              <Badge size="xs" variant="light" component="span">
                {t(`kinds.${model.kind}`)}
              </Badge>
            )}
          </Group>
          <Text span size="xs" c="dimmed" display="block">
            <ModelPrice price={model.price} isInline />
            {model.source === 'suggested' ? ` · ${t('suggest.estimate')}` : ''}
          </Text>
        </>
      }
    />
  );
}
