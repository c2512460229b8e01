import { expect, test } from "vitest";
import { OwnWidth } from "../src/hardware/picture";

/** A model of which several views say how wide they are; `told` is what Python was told. */
function model() {
  const calls = new Set<() => void>();
  const told: number[] = [];
  let [width, saved] = [0, 0];
  const show = (values: { width: number }) => {
    width = values.width;
    for (const call of calls) call();
  };
  return {
    told,
    width: () => width,
    view: () =>
      new OwnWidth({
        get: () => width,
        show,
        set: (values) => {
          show(values);
          if (width !== saved) told.push(width);
          saved = width;
        },
        on: (_name, call) => {
          calls.add(call);
          return () => calls.delete(call);
        },
      }),
  };
}

test("the picture is as wide as the narrowest view", () => {
  const { view, width } = model();
  const [one, other] = [view(), view()];
  one.take(900);
  other.take(500);
  expect(width()).toBe(500);
  one.take(950);
  expect(width()).toBe(500);
});

test("a view that was the narrowest can become wider up to the next one", () => {
  const { view, width } = model();
  const [one, other] = [view(), view()];
  one.take(700);
  other.take(500);
  other.take(900);
  expect(width()).toBe(700);
});

test.each(["end", "hide"])("after the narrowest view is gone the others decide: %s", (how) => {
  const { view, told } = model();
  const [one, other] = [view(), view()];
  one.take(900);
  other.take(500);
  if (how === "end") other.end();
  else other.take(0);
  expect(told).toEqual([900, 500, 900]);
});

test("the only view tells nothing when it is hidden, and nothing when it comes back as it was", () => {
  const { view, told } = model();
  const one = view();
  one.take(640);
  one.take(0);
  one.take(642);
  expect(told).toEqual([640]);
});
