import { useTranslation } from 'react-i18next';
import { type GenerationWay, type InputRole, type InputRule, inputRules } from '../../../contract/generation-ways.ts';
import { currentLanguage } from '../../strings/language.ts';
import type { DraftInput, InputProblem } from './inputs.ts';

/** Descriptions of inputs in the language of the page. */
export interface InputTexts {
  /** Inputs of all combinations together: "1 first frame, up to 9 reference images · images up to 30 MB". */
  takes(ways: readonly GenerationWay[]): string;
  /** One line per combination. */
  combinations(ways: readonly GenerationWay[]): readonly string[];
  rule(rule: InputRule): string;
  problem(problem: InputProblem, input: DraftInput, roles: readonly InputRole[]): string;
}

const MB = 1_000_000;

/** Texts about inputs. */
export function useInputTexts(): InputTexts {
  const { t } = useTranslation('studio');
  const joinAll = (parts: readonly string[]): string => parts.join(currentLanguage() === 'en' ? ', ' : '、');
  const size = (bytes: number): string => `${Number((bytes / MB).toFixed(1))} MB`;
  const kind = ({ type, role }: Pick<InputRule, 'type' | 'role'>, count: number): string =>
    t(`inputKinds.${type}_${role}` as 'inputKinds.image_reference', {
      count,
      defaultValue: `${t(`inputTypes.${type}`)}: ${t(`roles.${role}`)}`,
    });
  const rule = (each: InputRule): string => {
    const text = kind(each, each.max);
    return each.max > each.min && each.max > 1 ? t('upTo', { text }) : text;
  };
  return {
    rule,
    takes(ways) {
      const rules = inputRules(ways);
      if (rules.length === 0) return '';
      const types = [...new Set(rules.map(({ type }) => type))];
      const sizes = types.map((type) =>
        t(`maxSize.${type}`, {
          size: size(Math.max(...rules.filter((each) => each.type === type).map(({ maxBytes }) => maxBytes))),
        }),
      );
      return `${joinAll(rules.map(rule))} · ${joinAll(sizes)}`;
    },
    combinations: (ways) => [
      ...new Set(ways.map(({ inputs }) => (inputs.length === 0 ? t('promptOnly') : inputs.map(rule).join(' + ')))),
    ],
    problem(problem, { type, role }, roles) {
      if (problem.kind === 'count') return t('problems.count', { what: kind({ type, role }, problem.max) });
      if (problem.kind === 'bytes') return t('problems.bytes', { size: size(problem.maxBytes) });
      if (problem.kind === 'at') return t('problems.at');
      if (problem.kind === 'together') return t('problems.together');
      return roles.length === 0
        ? t(`problems.type.${type}`)
        : t('problems.role', { role: t(`roles.${role}`), roles: joinAll(roles.map((each) => t(`roles.${each}`))) });
    },
  };
}
