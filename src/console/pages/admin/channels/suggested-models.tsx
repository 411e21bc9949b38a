import { Alert, Badge, Button, Checkbox, Group, Stack, Text, TextInput } from '@mantine/core';
import { IconCheck, IconPlus } from '@tabler/icons-react';
import { useMutation } from '@tanstack/react-query';
import { useEffect, useRef, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { addChannelModels, type testChannel } from '../../../../contract/channels.ts';
import { ErrorAlert } from '../../../components/error-alert.tsx';
import { RouteButton } from '../../../components/route-link.tsx';
import { callApi } from '../../../data/api-client.ts';
import { type ResponseData, useInvalidateQueries } from '../../../data/query-any-admin-endpoint.ts';
import { ModelPrice } from '../models/model-price.tsx';

type SuggestedModel = ResponseData<typeof testChannel>['suggested_models'][number];

/** As many are selected at once from the start; from a longer list people choose. */
const MAX_PRESELECTED = 10;

interface SuggestedModelsProps {
  readonly channelId: number;
  /** Those the upstream lists and the channel does not serve. */
  readonly models: readonly SuggestedModel[];
}

/** The step after a test: which of the upstream's models users may call, each with a price. */
export function SuggestedModels({ channelId, models }: SuggestedModelsProps) {
  const { t } = useTranslation(['admin-channels', 'admin-models']);
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
  // The button that had the focus is disabled by then, and the list above which this stands is long.
  const result = useRef<HTMLDivElement>(null);
  useEffect(() => {
    if (added.length > 0) result.current?.focus();
  }, [added]);
  const left = models.filter(({ id }) => !added.includes(id));
  const shown = left.filter(({ id }) => id.toLowerCase().includes(part.trim().toLowerCase()));
  const chosen = left.filter(({ id }) => selected.has(id)).map(({ id }) => id);
  const select = (ids: readonly string[], isSelected: boolean): void => {
    const next = new Set(selected);
    for (const id of ids) isSelected ? next.add(id) : next.delete(id);
    setSelected(next);
  };
  const chosenShown = shown.filter(({ id }) => selected.has(id)).length;
  return (
    <Stack gap="sm" mt="lg">
      {added.length === 0 ? null : (
        <Alert
          ref={result}
          tabIndex={-1}
          color="teal"
          icon={<IconCheck />}
          title={t('suggest.added', { count: added.length })}
        >
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
      )}
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
          <Checkbox
            label={t('suggest.all', { count: shown.length })}
            checked={shown.length > 0 && chosenShown === shown.length}
            indeterminate={chosenShown > 0 && chosenShown < shown.length}
            disabled={shown.length === 0}
            onChange={(event) =>
              select(
                shown.map(({ id }) => id),
                event.currentTarget.checked,
              )
            }
          />
          <Stack gap="xs" mah={320} style={{ overflowY: 'auto' }} role="group" aria-label={t('suggest.title')}>
            {shown.map((model) => (
              <SuggestedModelRow
                key={model.id}
                model={model}
                isSelected={selected.has(model.id)}
                onChange={(isSelected) => select([model.id], isSelected)}
              />
            ))}
          </Stack>
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

interface SuggestedModelRowProps {
  readonly model: SuggestedModel;
  readonly isSelected: boolean;
  readonly onChange: (isSelected: boolean) => void;
}

function SuggestedModelRow({ model, isSelected, onChange }: SuggestedModelRowProps) {
  const { t } = useTranslation(['admin-channels', 'admin-models']);
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
                {t(`admin-models:kinds.${model.kind}`)}
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
