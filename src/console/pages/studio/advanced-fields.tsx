import { ActionIcon, JsonInput, Stack, TextInput } from '@mantine/core';
import { IconDice5 } from '@tabler/icons-react';
import { useTranslation } from 'react-i18next';
import type { UsableModel } from '../../data/models.ts';
import { controlsFor, type Draft } from './draft.ts';
import { GrowingTextarea } from './growing-textarea.tsx';

interface AdvancedFieldsProps {
  readonly model: UsableModel;
  readonly draft: Draft;
  readonly onChange: (change: Partial<Draft>) => void;
}

/** Less common parameters: negative prompt, seed, and parameters by the vendor's names. */
export default function AdvancedFields({ model, draft, onChange }: AdvancedFieldsProps) {
  const { t } = useTranslation('studio');
  const can = controlsFor(model, draft);
  const dice = (
    <ActionIcon
      aria-label={t('randomSeed')}
      onClick={() => onChange({ seed: String(Math.floor(Math.random() * 2_147_483_647)) })}
    >
      <IconDice5 size={16} />
    </ActionIcon>
  );
  return (
    <Stack gap="md" pt="xs">
      {can.negative ? (
        <GrowingTextarea
          label={t('negative')}
          value={draft.negative}
          onChange={(event) => onChange({ negative: event.currentTarget.value })}
          minRows={1}
          maxRows={4}
          maxLength={2500}
        />
      ) : null}
      {can.seed ? (
        <TextInput
          label={t('seed')}
          description={t('seedHint')}
          inputMode="numeric"
          value={draft.seed}
          onChange={(event) => onChange({ seed: event.currentTarget.value.replace(/\D/g, '').slice(0, 10) })}
          rightSection={dice}
        />
      ) : null}
      <JsonInput
        label={t('metadata')}
        description={t('metadataHint')}
        validationError={t('metadataBroken')}
        formatOnBlur
        autosize
        minRows={2}
        maxRows={10}
        value={draft.metadata}
        onChange={(metadata) => onChange({ metadata })}
      />
    </Stack>
  );
}
