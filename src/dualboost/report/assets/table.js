"use strict";
addEventListener("beforeprint", () => document.querySelectorAll("details.class").forEach((part) => { part.open = true; }));
(() => {
  const table = document.getElementById("rows");
  if (!table) return;
  const body = table.tBodies[0];
  const heads = [...table.tHead.rows[0].cells];
  const filter = document.getElementById("filter");
  const count = document.getElementById("count");
  const text = (row, k) => row.cells[k].textContent;
  const shown = () => [...body.rows].filter((row) => !row.hidden);

  const compare = (a, b) => {
    const x = Number(a), y = Number(b);
    const numbers = a.trim() !== "" && b.trim() !== "" && !Number.isNaN(x) && !Number.isNaN(y);
    return numbers ? x - y : a.localeCompare(b);
  };
  heads.forEach((head, k) => head.querySelector("button").addEventListener("click", () => {
    const down = head.getAttribute("aria-sort") === "ascending";
    heads.forEach((other) => other.removeAttribute("aria-sort"));
    head.setAttribute("aria-sort", down ? "descending" : "ascending");
    const rows = [...body.rows].sort((a, b) => (down ? -1 : 1) * compare(text(a, k), text(b, k)));
    body.append(...rows);
  }));

  const tell = () => { count.textContent = `${shown().length} of ${body.rows.length} rows`; };
  filter.addEventListener("input", () => {
    const wanted = filter.value.toLowerCase();
    for (const row of body.rows) row.hidden = !row.textContent.toLowerCase().includes(wanted);
    tell();
  });
  tell();

  // A cell that a spreadsheet would run as a formula gets a quote in front; numbers stay numbers.
  const harmless = (cell) => (/^[=+\-@\t\r]/.test(cell) && Number.isNaN(Number(cell)) ? "'" + cell : cell);
  const quoted = (cell) => '"' + harmless(cell).replaceAll('"', '""') + '"';
  const csv = () => [table.tHead.rows[0], ...shown()]
    .map((row) => [...row.cells].map((cell) => quoted(cell.textContent)).join(",")).join("\r\n") + "\r\n";
  document.getElementById("export").addEventListener("click", () => {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob(["\ufeff" + csv()], { type: "text/csv" }));
    link.download = "rows_to_check.csv";
    link.click();
    URL.revokeObjectURL(link.href);
  });
})();
