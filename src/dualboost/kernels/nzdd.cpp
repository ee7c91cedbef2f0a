// Passes over a diagram: a directed acyclic graph with one root (node 0) and one leaf (the last node). Nodes are
// numbered so that every edge goes up; the edges of node v are [start[v], start[v + 1]). All weights are logarithms.
#include "common.hpp"

namespace dualboost {
namespace {

struct Graph {
    int64_t nodes, edges;
    const int64_t *start;
    const int32_t *head;
};

Graph checked(const Vector<const int64_t> &start, const Vector<const int32_t> &head) {
    auto nodes = static_cast<int64_t>(start.shape(0)) - 1, edges = static_cast<int64_t>(head.shape(0));
    require(nodes >= 1 && nodes < (int64_t{1} << 31), "start must have one entry more than there are nodes");
    const int64_t *s = start.data();
    require(s[0] == 0 && s[nodes] == edges && std::is_sorted(s, s + nodes + 1),
            "start must begin with 0, not decrease and end with the number of edges");
    require(s[nodes - 1] == edges, "the last node is the leaf and has no edges");
    for (int64_t v = 0; v < nodes - 1; ++v) {
        require(s[v] < s[v + 1], "every node but the leaf must have an edge");
        for (int64_t e = s[v]; e < s[v + 1]; ++e)
            require(head.data()[e] > v && head.data()[e] < nodes, "an edge must lead to a later node");
    }
    return {nodes, edges, s, head.data()};
}

void check_size(size_t size, int64_t expected, const char *sentence) {
    require(static_cast<int64_t>(size) == expected, sentence);
}

// ---- Labels ----------------------------------------------------------------------------------------------------

struct Labels {
    int64_t edges;
    const int64_t *start;
    const int32_t *labels;
};

Labels checked_labels(const Vector<const int64_t> &start, const Vector<const int32_t> &labels, size_t count) {
    auto edges = static_cast<int64_t>(start.shape(0)) - 1, entries = static_cast<int64_t>(labels.shape(0));
    require(edges >= 0 && start.data()[0] == 0 && start.data()[edges] == entries &&
                std::is_sorted(start.data(), start.data() + edges + 1),
            "label_start must begin with 0, not decrease and end with the number of labels");
    bool fine = true;
    for (int64_t k = 0; k < entries; ++k)
        fine &= labels.data()[k] >= 0 && static_cast<size_t>(labels.data()[k]) < count;
    require(fine, "a label is out of range");
    return {edges, start.data(), labels.data()};
}

void gather(const Vector<const int64_t> &start, const Vector<const int32_t> &labels, const Vector<const double> &values,
            const Vector<double> &out) {
    Labels l = checked_labels(start, labels, values.shape(0));
    check_size(out.shape(0), l.edges, "out must have one entry for each edge");
    const double *v = values.data();
    double *sums = out.data();
    nb::gil_scoped_release release;
    for (int64_t e = 0; e < l.edges; ++e) {
        double sum = 0;
        for (int64_t k = l.start[e]; k < l.start[e + 1]; ++k) sum += v[l.labels[k]];
        sums[e] = sum;
    }
}

void scatter(const Vector<const int64_t> &start, const Vector<const int32_t> &labels, const Vector<const double> &flow,
             const Vector<double> &out) {
    Labels l = checked_labels(start, labels, out.shape(0));
    check_size(flow.shape(0), l.edges, "flow must have one entry for each edge");
    const double *f = flow.data();
    double *sums = out.data();
    std::fill(sums, sums + out.shape(0), 0.0);
    nb::gil_scoped_release release;
    for (int64_t e = 0; e < l.edges; ++e)
        if (f[e] != 0.0)
            for (int64_t k = l.start[e]; k < l.start[e + 1]; ++k) sums[l.labels[k]] += f[e];
}

// ---- Weight pushing --------------------------------------------------------------------------------------------

// log(sum of exp(scale * sums + total of the head)) over the edges of one node.
double log_total(const Graph &g, int64_t v, const double *sums, double scale, const double *total) {
    int64_t first = g.start[v], last = g.start[v + 1];
    double top = scale * sums[first] + total[g.head[first]];
    if (last - first == 1) return top;
    if (last - first == 2) {
        double other = scale * sums[first + 1] + total[g.head[first + 1]];
        double gap = top < other ? top - other : other - top;
        return (top < other ? other : top) + std::log1p(fast_exp(gap));
    }
    for (int64_t e = first + 1; e < last; ++e) top = std::max(top, scale * sums[e] + total[g.head[e]]);
    double mass = 0;
    for (int64_t e = first; e < last; ++e) mass += fast_exp(scale * sums[e] + total[g.head[e]] - top);
    return top + std::log(mass);
}

// The shares of what passes a node, edge by edge, divided by their own sum: no weight is made or lost on the way.
void divide(const Graph &g, int64_t v, const double *sums, double scale, const double *total, double *flow) {
    int64_t first = g.start[v], last = g.start[v + 1];
    if (last - first == 1) {
        flow[first] = 1.0;
        return;
    }
    double mass = 0;
    for (int64_t e = first; e < last; ++e) mass += flow[e] = fast_exp(scale * sums[e] + total[g.head[e]] - total[v]);
    for (int64_t e = first; e < last; ++e) flow[e] /= mass;
}

// Backward: the log of the weight of all paths from each node to the leaf. Forward: the share of all weight that passes
// each edge (Mitsuboshi, Hatano & Takimoto, Algorithm 2).
void push(const Vector<const int64_t> &start, const Vector<const int32_t> &head, const Vector<const double> &sums,
          double scale, const Vector<double> &total, const Vector<double> &flow) {
    Graph g = checked(start, head);
    check_size(sums.shape(0), g.edges, "sums must have one entry for each edge");
    check_size(total.shape(0), g.nodes, "total must have one entry for each node");
    check_size(flow.shape(0), g.edges, "flow must have one entry for each edge");
    bool fine = std::isfinite(scale);
    for (int64_t e = 0; e < g.edges; ++e) fine &= std::isfinite(sums.data()[e]);
    require(fine, "sums and scale must be finite");
    const double *s = sums.data();
    double *t = total.data(), *f = flow.data();
    nb::gil_scoped_release release;
    t[g.nodes - 1] = 0.0;
    for (int64_t v = g.nodes - 2; v >= 0; --v) t[v] = log_total(g, v, s, scale, t);
    std::vector<double> through(static_cast<size_t>(g.nodes), 0.0);
    through[0] = 1.0;
    for (int64_t v = 0; v < g.nodes - 1; ++v) {
        double here = through[static_cast<size_t>(v)];
        if (here > 0.0) divide(g, v, s, scale, t, f);
        for (int64_t e = g.start[v]; e < g.start[v + 1]; ++e) {
            f[e] = here > 0.0 ? here * f[e] : 0.0;
            through[static_cast<size_t>(g.head[e])] += f[e];
        }
    }
}

// The smallest and the largest sum of any path from each node to the leaf.
void extremes(const Vector<const int64_t> &start, const Vector<const int32_t> &head, const Vector<const double> &sums,
              const Vector<double> &low, const Vector<double> &high) {
    Graph g = checked(start, head);
    check_size(sums.shape(0), g.edges, "sums must have one entry for each edge");
    check_size(low.shape(0), g.nodes, "low must have one entry for each node");
    check_size(high.shape(0), g.nodes, "high must have one entry for each node");
    const double *s = sums.data();
    double *least = low.data(), *most = high.data();
    nb::gil_scoped_release release;
    least[g.nodes - 1] = most[g.nodes - 1] = 0.0;
    for (int64_t v = g.nodes - 2; v >= 0; --v) {
        least[v] = HUGE_VAL;
        most[v] = -HUGE_VAL;
        for (int64_t e = g.start[v]; e < g.start[v + 1]; ++e) {
            least[v] = std::min(least[v], s[e] + least[g.head[e]]);
            most[v] = std::max(most[v], s[e] + most[g.head[e]]);
        }
    }
}

}  // namespace

void bind_nzdd(nb::module_ &m) {
    using namespace nb::literals;
    m.def("nzdd_gather", &gather, "label_start"_a.noconvert(), "labels"_a.noconvert(), "values"_a.noconvert(),
          "out"_a.noconvert(), "out[e] = sum of the values of the labels of edge e.");
    m.def("nzdd_scatter", &scatter, "label_start"_a.noconvert(), "labels"_a.noconvert(), "flow"_a.noconvert(),
          "out"_a.noconvert(), "out[i] = sum of the flow of the edges with label i.");
    m.def("nzdd_push", &push, "start"_a.noconvert(), "head"_a.noconvert(), "sums"_a.noconvert(), "scale"_a,
          "total"_a.noconvert(), "flow"_a.noconvert(),
          "total[v] = log of the weight exp(scale * sum) of all paths from v to the leaf; flow[e] = the share through "
          "e.");
    m.def("nzdd_extremes", &extremes, "start"_a.noconvert(), "head"_a.noconvert(), "sums"_a.noconvert(),
          "low"_a.noconvert(), "high"_a.noconvert(),
          "The smallest and largest sum of a path from each node to the leaf.");
}

}  // namespace dualboost
